"""What every engine shares: the candidate's operators, called and watched."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import torch

from properties import configurations, journal, surroundings, tally
from properties.calls import Rerun
from properties.candidate import Candidate, source_of
from properties.configurations import Watch
from properties.contract import OPERATORS, WRITTEN, result_fault
from properties.engines.contained import contained
from properties.engines.filling import filled_memory
from properties.engines.recording import Recording
from properties.interrupts import is_of_the_user
from properties.leaving import Leaving, staying
from properties.printable import class_name, one_line, told
from properties.ttir import Accesses, Launch, frontend, frozen
from properties.verdict import NotJudged, Violation


class BadEngine(Exception):
    """The engine asked for cannot run here; the message is one line that says why and what is allowed."""


class Engine:
    """Runs a candidate's functions on one device; subclasses say what they observe beside results.

    As it stands it runs plain functions on the host, which the judge's own tests use.
    """

    name = "host"
    device = "cpu"  # where kernels run
    home = "cpu"  # where cases are laid out and compared
    sees_hazards = False
    no_graphs = "plain functions on the host have no graphs"  # why the engine cannot capture a region; "" if it can
    unjudged_dtypes: Mapping[str, str] = MappingProxyType({})  # dtype -> why this engine cannot judge it

    @classmethod
    def unusable(cls) -> str | None:
        """Why the engine cannot run on this machine, or None."""
        return None

    def title(self) -> str:
        """Engine and device in words, for the run's header."""
        return f"{self.name} on {self.device}"

    def specialisations(self) -> int:
        """How many specialisations this process has compiled, or -1 where the engine cannot tell."""
        return -1

    @contextmanager
    def carried(self, given: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """The arguments of a call where kernels run; afterwards those at home hold what was written."""
        yield given

    def address(self, tensor: torch.Tensor) -> int:
        """Where the memory of an argument or a result begins; the same for an argument carried and at home."""
        return tensor.untyped_storage().data_ptr()

    def running(self, read_only: list[torch.Tensor]) -> AbstractContextManager[Any]:
        """What surrounds one call: memory that nobody wrote reads as NaN. `read_only` must not be written."""
        return filled_memory()

    @contextmanager
    def watching(self) -> Iterator[Accesses | None]:
        """What surrounds a call that is made to explain a failure: who touched what, where the engine sees that."""
        with self.running([]):
            yield None

    def own_error(self, error: BaseException) -> BaseException | None:
        """The engine's own shortcoming behind an exception of a call, or None where it is the candidate's."""
        return None

    def is_lost(self) -> bool:
        """Whether the device takes no more calls of this process, since one of them broke it."""
        return False

    def observed(self, operator: str, context: Any, result: object) -> Violation | None:
        """What was seen during the call beside its results, as a violation of the hazards group."""
        return None

    def pool(self) -> Any:
        """Memory that several captured regions share, where the engine has such a thing."""
        return None

    def capture(self, region: Callable[[], Any], pool: Any) -> Recording:
        """Captures a region; its scalars, addresses and decisions are frozen from then on."""
        raise NotImplementedError(self.no_graphs)

    @contextmanager
    def traced(self) -> Iterator[list[Launch]]:
        """The launches made inside, as far as the engine sees them: none, for most."""
        yield []

    def bind(self, candidate: Candidate) -> Ops:
        """The candidate's operators, run by this engine."""
        return Ops(candidate, self)


class Ops:
    """The operators under judgement, as invariants call them; `baseline` are those of a kernel to compare with."""

    baseline: Ops | None = None
    whose = ""  # before an operator's name in the journal

    def __init__(self, candidate: Candidate, engine: Engine) -> None:
        self.candidate, self.engine = candidate, engine
        self.name, self.device, self.home = candidate.name, engine.device, engine.home
        self._property, self._case = "engine", None
        self.tuned = Watch()
        self.earlier: torch.Tensor | None = None  # the last result, which the next one must not share memory with

    def offers(self, operator: str) -> bool:
        """Whether the candidate has that operator."""
        return operator in self.candidate.operators

    @contextmanager
    def judging(self, name: str, case: Any) -> Iterator[None]:
        """Names the property and case that violations seen during calls belong to, and their configurations."""
        before = self._property, self._case
        self._property, self._case = name, case
        journal.judging(name, case)
        self.tuned.ran.clear()
        try:
            yield
        except Violation as violation:
            violation.configuration = violation.configuration or self.tuned.words
            raise
        finally:
            self._property, self._case = before

    @property
    def configurations(self) -> int:
        """How many configurations there are to judge: those of the autotuned kernel with most of them, at least 1."""
        return max([self._configurations, *map(len, configurations.LAUNCHES.values())])

    @cached_property
    def _configurations(self) -> int:
        return max([1, *map(len, frontend.configurations(self._packages))])

    @cached_property
    def _packages(self) -> set[str]:
        """The top-level packages of the operators, and of the functions that their modules import."""
        modules = [inspect.getmodule(function) for function in self.candidate.operators.values()]
        known = [one for module in modules for one in vars(module or object).values() if inspect.isfunction(one)]
        homes = [one.__module__ for one in (*self.candidate.operators.values(), *known)]
        return {home.partition(".")[0] for home in homes if home}

    def configured(self, choice: int) -> Ops:
        """These operators, from now on with autotuned kernels in that configuration."""
        self.tuned.choice = choice
        return self

    def fused_sconv(self, *arguments: Any, **named: Any) -> Any:
        """The candidate's `fused_sconv`, run by the engine."""
        return self._call("fused_sconv", arguments, named)

    def sconv_seq_metadata(self, *arguments: Any, **named: Any) -> Any:
        """The candidate's `sconv_seq_metadata`, run by the engine."""
        return self._call("sconv_seq_metadata", arguments, named)

    def refusal(self, operator: str, *arguments: Any, **named: Any) -> BaseException | None:
        """What an operator raises when called so, or None if it accepts."""
        given = _by_name(operator, arguments, named)
        choosing = frontend.choosing(self.tuned.choice, self.tuned.seen)
        carried, running = self.engine.carried(given), self.engine.running([])
        with self._contained(operator), carried as there, running, choosing, self._watched(operator):
            try:
                self._invoke(operator, there, len(arguments))
            except BaseException as error:  # as in _call
                if is_of_the_user(error):
                    raise
                return error
        return None

    @property
    def rerun(self) -> Rerun:
        """What calls `fused_sconv` again as it is configured now, to explain a failure."""
        return partial(self._again, self.tuned.choice)

    def _again(self, choice: int, arguments: Mapping[str, Any]) -> tuple[Any, Accesses | None]:
        """One call in a configuration; what is seen does not count. The result, and accesses if they are seen."""
        around = self.engine.watching(), frontend.choosing(choice), staying()
        carried = self._contained("fused_sconv"), self.engine.carried(arguments)
        with carried[0], carried[1] as there, around[0] as accesses, around[1], around[2]:
            try:
                return self.candidate.operators["fused_sconv"](**there), accesses
            except BaseException as error:  # as in _call
                if isinstance(error, Exception) or is_of_the_user(error):
                    raise
                raise RuntimeError(f"made again, the call raised {told(error)}") from error

    def constants(self, operator: str, **named: Any) -> set[int]:
        """The whole numbers that shape a call's kernels: constexpr arguments, module constants, configurations.

        Constexpr arguments are seen where Triton's own launch is, so not on the interpreter.
        """
        function = self.candidate.operators[operator]
        known = [*vars(inspect.getmodule(function) or object).values()]
        known += [value for every in frontend.configurations(self._packages) for one in every for value in one.values()]
        around = self.engine.running([]), frontend.choosing(0)
        noting, watched = frontend.noting_constants(), self._watched(operator)
        with self._contained(operator), around[0], around[1], noting as noted, watched:
            try:
                function(**named)
            except BaseException as error:  # what goes wrong here is judged elsewhere
                if is_of_the_user(error):
                    raise
        return noted | {value for value in known if type(value) is int}

    def _call(self, operator: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        __tracebackhide__ = True
        given = _by_name(operator, arguments, named)
        inputs = [one for name, one in given.items() if isinstance(one, torch.Tensor) and name not in WRITTEN]
        # The engine's surroundings come first: a machine has a choice of its own.
        choosing = frontend.choosing(self.tuned.choice, self.tuned.seen)
        carried, running = self.engine.carried(given), self.engine.running(inputs)
        with self._contained(operator), carried as there, running as context, choosing, self._watched(operator):
            try:
                result = self._invoke(operator, there, len(arguments))
            except BaseException as error:  # SystemExit, or pytest's own outcomes, must not end the run
                if is_of_the_user(error):
                    raise
                raise self._raised(operator, error) from error
        if isinstance(result, torch.Tensor) and "x" in given and (fault := result_fault(result, there["x"])):
            raise Violation(self._property, operator, got=fault, case=self._case)
        self._observe(operator, context, result)
        return result

    def _invoke(self, operator: str, given: Mapping[str, Any], positional: int) -> Any:
        """Calls an operator, its first arguments by position as the caller did."""
        function: Callable[..., Any] = self.candidate.operators[operator]
        names = OPERATORS[operator][:positional]
        return function(*(given[name] for name in names), **{k: v for k, v in given.items() if k not in names})

    def _contained(self, operator: str) -> AbstractContextManager[None]:
        return contained(f"{self.whose}{operator}", self.engine.is_lost, partial(self._raised, operator))

    def _watched(self, operator: str) -> AbstractContextManager[None]:
        return surroundings.kept(operator, self._property, self._case)

    def _observe(self, operator: str, context: Any, result: object) -> None:
        __tracebackhide__ = True
        hazard = self.engine.observed(operator, context, result)
        if hazard is None:
            return
        hazard.case, hazard.configuration = self._case, self.tuned.words
        if self._property == hazard.property_name:
            raise hazard
        # Another property is being judged and says nothing of hazards: the tally keeps what was seen.
        hazard.then = f"seen while judging {self._property}"
        tally.note(hazard)

    def capture(self, region: Callable[[], Any], pool: Any = None) -> Recording:
        """Captures what the region does with the operators, for `replay`."""
        __tracebackhide__ = True
        with self._contained("capture"):
            try:
                return self.engine.capture(region, pool)
            except (Violation, NotJudged):
                raise
            except Exception as error:
                raise self._raised("capture", error) from error

    def frozen(self, recordings: Sequence[Recording], eager: Sequence[Launch]) -> str:
        """In which launches captured regions differ from an eager run of the same, in words; nothing where unseen."""
        return frozen([launch for recording in recordings for launch in recording.launches], eager)

    def replay(self, recording: Recording) -> None:
        """Runs a captured region again."""
        __tracebackhide__ = True
        with self._contained("replay"):
            try:
                machine = recording.replay()
            except Exception as error:
                raise self._raised("replay", error) from error
        tally.count_replay(self._property)
        if machine is not None:
            self._observe("fused_sconv", machine, None)

    def _raised(self, operator: str, error: BaseException) -> BaseException:
        if (own := self.engine.own_error(error)) is not None:
            return own
        on, at, said = "on a case that the contract allows", source_of(error, self.candidate.path), one_line(error)
        got = f"raised {class_name(type(error))} {on}"
        if isinstance(error, Leaving):
            got, said = f"called {said} {on}", ""
        return Violation(self._property, operator, got=got, said=said, at=at, case=self._case)


def _by_name(operator: str, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    return {**dict(zip(OPERATORS[operator], arguments, strict=False)), **named}
