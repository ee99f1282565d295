"""Whether a Ray cluster can have a member at all; nothing here imports Ray, which would wait for ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relserve.engines.fleet.file import MemberSpec

NODE, INTERNAL, GPU = "node:", "node:__", "GPU"  # how Ray names a machine's address, marks of its own, GPUs


def why_unplaceable(spec: MemberSpec, machines: Sequence[Mapping[str, float]]) -> str:
    """Why no machine can have a member, however long it waits; "" where one can.

    Args:
        machines: what each that lives has in all, as Ray names it.
    """
    names = [_name(each) for each in machines]
    able = [each for each, name in zip(machines, names, strict=True) if spec.machine in ("", name)]
    if not able:
        return (
            f"the Ray cluster has no machine {spec.machine!r}; there are: {', '.join(names) or 'none'}; mend "
            "`machine` in the fleet file, or leave it out"
        )
    most = max(each.get(GPU, 0.0) for each in able)
    if spec.gpus > most:
        where = f"the machine {spec.machine}" if spec.machine else "no machine of the Ray cluster"
        has = f"has {most:g}" if spec.machine else f"has more than {most:g}"
        return f"it is to have {spec.gpus:g} GPUs, and {where} {has}; mend `gpus` in the fleet file"
    return ""


def _name(machine: Mapping[str, float]) -> str:
    found = [each for each in machine if each.startswith(NODE) and not each.startswith(INTERNAL)]
    return found[0].removeprefix(NODE) if found else "?"
