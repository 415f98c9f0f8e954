"""Hold the options of a benchmark run, which are passed to every section."""

from dataclasses import dataclass

from loadtest.workload import LengthLaw


@dataclass(frozen=True, slots=True)
class Options:
    """The seed of the workloads, fewer repeats or not, and the law and gap of `workload.accuracy`.

    With `write` a section may write its files in results/.
    """

    seed: int = 0
    quick: bool = False
    law: LengthLaw = "negative_binomial"
    gap: float = 0.0
    write: bool = False
