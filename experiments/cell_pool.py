"""Running the cells that are not finished yet."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments import cli
from experiments.cells import Work, run_cell
from experiments.pool import WorkerDiedError, run_all
from experiments.progress import CellsBar


def run_cells(works: Sequence[Work], finished: int, jobs: int, again: str) -> int:
    """Run cells; return the exit status of that.

    Args:
        works: cells to run, in this order.
        finished: cells that are there already.
        jobs: how many are under way at a time.
        again: what runs those again that fail, for the messages.

    Raises:
        RecordError: a file cannot be written.
    """
    failed = 0
    try:
        with CellsBar(finished + len(works), finished) as bar:

            def end(work: Work, failure: str | None) -> None:
                nonlocal failed
                bar.end(str(work.cell))
                if failure:
                    failed += 1
                    print(f"{failure}; {again} runs it again", file=sys.stderr)

            run_all(run_cell, works, jobs, lambda work: bar.begin(str(work.cell)), end)
    except KeyboardInterrupt:
        return cli.INTERRUPTED
    except WorkerDiedError as error:
        print(f"failed: {error}; {again} runs the rest", file=sys.stderr)
        return cli.FAILED
    return cli.FAILED if failed else 0
