"""The stop rule: a version within reach of its floor ends the run."""

from __future__ import annotations

from ..tools.profile.roofline import STOP_WITHIN_PCT
from ..tools.records import Diagnosis
from .context import Context
from .state import Version


def nothing_left(version: Version, context: Context) -> str:
    """Return why nothing is left to gain, or an empty string: by the measured efficiency, or by the diagnosis."""
    limit = context.stop_efficiency
    if limit is None:
        return ""
    efficiency = context.store.get_json(version.gain).get("efficiency") if version.gain else None
    if efficiency is not None and efficiency >= limit:
        return f"the best version is at {efficiency:.0%} of its floor: there is nothing left to gain"
    if version.diagnosis:
        diagnosis = Diagnosis.model_validate(context.store.get_json(version.diagnosis))
        for finding in diagnosis.findings:
            if finding.name == "near_floor":
                near = f"within {STOP_WITHIN_PCT:.0f} % of its floor ({finding.evidence})"
                return f"the best version is {near}: there is nothing left to gain"
    return ""
