"""Drop-in for the MAESTRO binary: the same command line, CSV and exit statuses.

``maestro-compat --Mapping_file=F.m [--HW_file=H.m] [the binary's options]`` writes the CSV that the
binary writes; ``--jsonl IN[.gz] --out OUT`` evaluates rows instead. Where the binary
dies, nothing is written, one line goes to stderr and the exit status is 255 for its own exit and
128 plus the signal's number for a signal. This module imports the standard library and the native
core alone, so that it starts quickly.
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

from maestro_env import _native
from maestro_env.base.errors import ModelError, TooLongError, complain
from maestro_env.base.m_file import NetworkText, ReferenceDeath, parse, parse_hardware, wrap_int32
from maestro_env.base.reading import read_text
from maestro_env.compat.evaluation import equal_nocs, run
from maestro_env.evaluation.models import find_model

# Maps every byte to a character and back.
_BYTES = "latin-1"
_MAX_CHARACTERS = 2**24
_REFUSED = 2
_UNSWEPT_NOCS = [(70000, 1)] * 5

_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?(inf(inity)?|nan(\(.*\))?)", re.IGNORECASE)
_BOOLEANS = {
    **dict.fromkeys(("", "on", "yes", "1", "true"), True),
    **dict.fromkeys(("off", "no", "0", "false"), False),
}

# The binary's options by default value, then by type those that change nothing.
_OPTIONS: dict[str, str | int | bool] = {
    "Mapping_file": "",
    "HW_file": "",
    "num_pes": 7,
    "num_simd_lanes": 1,
    "noc_bw_cstr": 2**31 - 1,
    "noc_hops": 1,
    "noc_hop_latency": 0,
    "offchip_bw_cstr": 70000,
    "print_res_csv_file": True,
    "bw_sweep": False,
    "top_bw_only": False,
    "min_noc_bw": 512,
    "max_noc_bw": 512,
    "bw_tick": 4,
}
_IGNORED = {
    str: "dataflow_file layer_file optimization_target",
    float: "area_constraint power_constraint",
    int: "l1_size_cstr l2_size_cstr msg_print_lv min_num_PEs max_num_PEs pe_tick",
    bool: "print_res print_log_file noc_mc_support do_implicit_reduction do_fg_sync "
    "do_reduction_op full_buffer do_dse verbose print_design_space print_space",
}
_TYPES: dict[str, type] = {
    **{name: type(default) for name, default in _OPTIONS.items()},
    **{name: kind for kind, names in _IGNORED.items() for name in names.split()},
}


_USAGE = """\
usage: maestro-compat --Mapping_file=F.m [--HW_file=H.m] [--OPTION=VALUE ...]
       maestro-compat --jsonl=ROWS.jsonl[.gz] --out=FILE [--model=maestro|exact|hierarchy]

Take the options of the MAESTRO binary and write its CSV, or evaluate rows of JSON.

options of the binary, and their defaults:"""


def main(argv: list[str] | None = None) -> int:
    """Run the drop-in; returns the process's exit status."""
    arguments = sys.argv[1:] if argv is None else argv
    # Beside other options the binary ignores --help.
    if arguments in (["-h"], ["--help"]):
        _print_help()
        return 0
    if any(argument.split("=")[0] == "--jsonl" for argument in arguments):
        # Rows need more of the standard library, which a single call should not wait for.
        from maestro_env.compat import rows

        return rows.main(arguments)
    try:
        find_model("maestro")
        _run_file(_parse_options(arguments))
    except ModelError as error:
        complain(str(error))
        return _REFUSED
    except ReferenceDeath as death:
        complain(str(death))
        return death.code if death.code > 0 else 128 - death.code
    return 0


def _print_help() -> None:
    from textwrap import fill

    given = (f"  --{name}={str(value).lower()}" for name, value in _OPTIONS.items())
    ignored = fill(" ".join(_IGNORED.values()), 78, initial_indent="  ", subsequent_indent="  ")
    lines = (_USAGE, *given, "accepted, without effect on the CSV:", f"{ignored}\n")
    # In one piece: whoever reads the first lines may have gone.
    print("\n".join(lines), end="")


def _parse_options(arguments: list[str]) -> dict[str, Any]:
    """Parse options as boost does: unambiguous prefixes, ``--name value`` or ``--name=value``."""
    options: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            break
        if not argument.startswith("-") or argument == "-" or argument.startswith("--="):
            continue
        if not argument.startswith("--"):
            raise ReferenceDeath("abort", f"unknown option '{argument}'")
        given, equals, value = argument[2:].partition("=")
        name = _complete(given)
        if name in options:
            raise ReferenceDeath("abort", f"option --{name} is given twice")
        if name == "help":
            if equals:
                raise ReferenceDeath("abort", "option --help takes no value")
            options[name] = True
            continue
        if not equals:
            value = next(rest, "--")
            if value.startswith("--"):
                raise ReferenceDeath("abort", f"option --{name} needs a value")
        options[name] = _convert(name, value, _TYPES[name])
    return {**_OPTIONS, **options}


def _complete(given: str) -> str:
    """Return the option whose name, or a beginning of it, is given."""
    matches = [name for name in (*_TYPES, "help") if name.startswith(given)]
    if given in matches:
        return given
    if len(matches) != 1:
        problem = "ambiguous" if matches else "unknown"
        raise ReferenceDeath("abort", f"{problem} option '--{given}'")
    return matches[0]


def _convert(name: str, value: str, kind: type) -> str | int | float | bool:
    if kind is str and value:
        return value
    try:
        if kind is bool:
            return _BOOLEANS[value.lower()]
        if kind is float and _INFINITE.fullmatch(value):
            return math.inf
        if kind is float and _REAL.fullmatch(value) and math.isfinite(float(value)):
            return float(value)
        if kind is int and _INTEGER.fullmatch(value) and -(2**31) <= int(value) < 2**31:
            return int(value)
    except (KeyError, ValueError):
        pass
    raise ReferenceDeath("abort", f"option --{name}: '{value}' is not a valid value")


def _parse_mapping(path: str) -> NetworkText:
    text = ""
    try:
        text = _read(path)
        return parse(text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        hint = "" if path else "; give --Mapping_file=FILE.m, or --jsonl IN --out OUT"
        raise ReferenceDeath("abort", f"cannot read '{path}': {reason}{hint}") from None
    except ReferenceDeath as death:
        hint = "; it reads carriage returns as letters: take them out" if "\r" in text else ""
        raise ReferenceDeath(death.kind, f"{path}, {death}{hint}") from None


def _run_file(options: dict[str, Any]) -> None:
    path, file = options["Mapping_file"], options["HW_file"]
    network = _parse_mapping(path)
    hops = wrap_int32(options["noc_hops"] * options["noc_hop_latency"])
    hardware = {**options, "NoC_NumHops": hops, **(_read_hardware(file) if file else {})}
    sizes = [hardware[name] for name in ("num_pes", "num_simd_lanes", "offchip_bw_cstr")]
    bandwidth, latency = hardware["noc_bw_cstr"], hardware["NoC_NumHops"]
    if not (options["bw_sweep"] and options["top_bw_only"]):
        rows = run(network, equal_nocs(bandwidth, latency), *sizes)
        if options["print_res_csv_file"]:
            _append_csv(path, network, rows)
        return
    if options["bw_tick"] < 1:
        raise ReferenceDeath("abort", "a bandwidth sweep with such a bw_tick never ends")
    for swept in range(options["min_noc_bw"], options["max_noc_bw"] + 1, options["bw_tick"]):
        # One block of rows per bandwidth; a hardware file's own bandwidth stays (S2.3).
        nocs = equal_nocs(bandwidth, latency) if file else [(swept, latency), *_UNSWEPT_NOCS]
        _append_csv(path, network, run(network, nocs, *sizes))


def _read(path: str) -> str:
    # The binary reads bytes; carriage returns are not special.
    return read_text(path, _MAX_CHARACTERS, encoding=_BYTES, newline="")


def _read_hardware(path: str) -> dict[str, int]:
    """Read a hardware file; like the binary, take one that cannot be opened as empty."""
    try:
        return parse_hardware(_read(path))
    except TooLongError as error:
        raise ReferenceDeath("abort", f"cannot read '{path}': {error}") from None
    except (OSError, ValueError):
        return parse_hardware("")


def csv_path(mapping_file: str) -> Path:
    """Return the file the binary writes: less two folders, cut at the first dot (S8.1)."""
    name = mapping_file.split("/", 2)[-1]
    return Path(name.partition(".")[0] + ".csv")


def _append_csv(mapping_file: str, network: NetworkText, rows: list[list[str]]) -> None:
    path = csv_path(mapping_file)
    lines = [
        _native.csv_row(network.name, layer.name, cells)
        for layer, cells in zip(network.layers, rows, strict=True)
    ]
    try:
        header = [] if path.exists() else [_native.CSV_HEADER]
        with path.open("a", encoding=_BYTES, newline="") as file:
            file.write("".join(f"{line}\n" for line in [*header, *lines]))
    except OSError as error:
        complain(f"cannot write '{path}': {error.strerror}")


if __name__ == "__main__":
    sys.exit(main())
