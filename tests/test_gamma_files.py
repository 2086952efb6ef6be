"""GAMMA's CSV files against files written here."""

from __future__ import annotations

from pathlib import Path

import pytest
from workload_helpers import LONG, conv, depthwise, gemm, same

from maestro_env.base.errors import LayerError
from maestro_env.workloads.files.csv_files import read_csv_layers
from maestro_env.workloads.finding import find_layer

ROWS = "64,3,226,226,3,3,1\n1,32,112,112,3,3,2\n512,64,128,1,1,1,3\n256,128,1,1,1,1,0\n"
LAYERS = (conv(64, 3, 226, 3), depthwise(32, 112), gemm(512, 64, 128), gemm(1, 256, 128))


def write(folder: Path, text: str) -> Path:
    path = folder / "net.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("header", ["K,C,Y,X,R,S,T", "M,N,K,0,0,0,T", "O,I,0,0,0,0,T"])
def test_a_row_means_what_its_type_code_says(tmp_path: Path, header: str) -> None:
    layers = read_csv_layers(write(tmp_path, f"{header}\n{ROWS}"))
    assert [layer.name for layer in layers] == [f"net_l{i}" for i in range(4)]
    assert all(map(same, layers, LAYERS))


@pytest.mark.parametrize(
    "text",
    [
        f"K,C,Y,X,R,S,T\n{ROWS.rstrip()}",
        f"K,C,Y,X,R,S,T\n{ROWS}\n\n",
        f"\ufeffK,C,Y,X,R,S,T\n{ROWS}",
        f"K,C,Y,X,R,S,T\n{ROWS}".replace("\n", "\r\n"),
        f"K, C, Y, X, R, S, T\n{ROWS}".replace(",", ", "),
    ],
    ids=["no-last-newline", "blank-lines", "byte-order-mark", "crlf", "spaces"],
)
def test_how_a_file_was_saved_does_not_matter(tmp_path: Path, text: str) -> None:
    layers = read_csv_layers(write(tmp_path, text))
    assert len(layers) == len(LAYERS)
    assert all(map(same, layers, LAYERS))


def test_stride_column(tmp_path: Path) -> None:
    path = write(tmp_path, "K,C,Y,X,R,S,T,stride\n64,3,230,230,7,7,1,2\n512,64,128,1,1,1,3,1\n")
    strided, plain = read_csv_layers(path)
    assert same(strided, conv(64, 3, 230, 7, stride=2))
    assert same(plain, gemm(512, 64, 128))


@pytest.mark.parametrize(
    ("text", "line", "fault"),
    [
        ("64,3,226,226,3,3,1\n64,3,226,226,3,3,1\n", 1, "64,3,226,226,3,3,1"),
        ("K,C,Y,X,R,S\n64,3,226,226,3,3\n", 1, "K,C,Y,X,R,S"),
        ("K,C,Y,X,R,S,T\n64,3,226,226,3,3,1\n\n64,3,16.1,16,3,3,1\n", 4, "'16.1'"),
        ("K,C,Y,X,R,S,T\n64,3,,16,3,3,1\n", 2, "''"),
        ("K,C,Y,X,R,S,T\n32,32,16,16.1,1,1\n", 2, "6 cells"),
        ("K,C,Y,X,R,S,T\n64,3,226,226,3,3,4\n", 2, "T = 4"),
        ("K,C,Y,X,R,S,T\n٣,3,226,226,3,3,1\n", 2, "'٣' is not an integer"),
        ("K,C,Y,X,R,S,T\n0,3,226,226,3,3,1\n", 2, "K is 0"),
        ("K,C,Y,X,R,S,T\n64,3,2,2,3,3,1\n", 2, "R = 3"),
        ("K,C,Y,X,R,S,T\n2,32,112,112,3,3,2\n", 2, "cell 1 is 2"),
        ("M,N,K,0,0,0,T\n64,64,58,58,3,3,3\n", 2, "cell 4 is 58"),
        ("M,N,K,0,0,0,T,stride\n64,64,58,1,1,1,3,2\n", 2, "stride"),
    ],
)
def test_malformed_file_names_file_line_and_fault(
    tmp_path: Path, text: str, line: int, fault: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(LayerError) as error:
        read_csv_layers(path)
    message = str(error.value)
    assert f"{str(path)!r}, line {line}: " in message
    assert fault in message.partition(f"line {line}: ")[2]
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "\n\n", "K,C,Y,X,R,S,T\n"])
def test_a_file_without_layers_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(LayerError, match=r"net\.csv': no layers"):
        read_csv_layers(write(tmp_path, text))


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    for name, reason in {"": "Is a directory", "binary.csv": "'utf-8' codec"}.items():
        with pytest.raises(LayerError, match=f"{tmp_path / name} cannot be read: {reason}"):
            read_csv_layers(tmp_path / name)


@pytest.mark.parametrize("text", [f"K,C,Y,X,R,S,T\n64,3,{LONG}x,226,3,3,1\n", f"{LONG}\n1\n"])
def test_long_cells_are_cut_in_messages(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(LayerError) as error:
        read_csv_layers(path)
    assert f"'{'9' * 37}...'" in str(error.value)
    assert len(str(error.value)) < len(str(path)) + 200


def test_find_layer_picks_a_row(tmp_path: Path) -> None:
    path = write(tmp_path, f"K,C,Y,X,R,S,T\n{ROWS}")
    assert [find_layer(f"{path}:{row}") for row in range(4)] == list(read_csv_layers(path))


@pytest.mark.parametrize("row", ["", ":", ":4", ":-1", ":one"])
def test_find_layer_refuses_a_row_that_is_not_there(tmp_path: Path, row: str) -> None:
    path = write(tmp_path, f"K,C,Y,X,R,S,T\n{ROWS}")
    with pytest.raises(LayerError, match=r"names no row; allowed: FILE\.csv:0 to FILE\.csv:3"):
        find_layer(f"{path}{row}")


def test_a_file_with_one_layer_needs_no_row(tmp_path: Path) -> None:
    path = write(tmp_path, "K,C,Y,X,R,S,T\n64,3,226,226,3,3,1\n")
    assert find_layer(str(path)) == find_layer(f"{path}:0") == read_csv_layers(path)[0]
    with pytest.raises(LayerError, match="names no row"):
        find_layer(f"{path}:1")
