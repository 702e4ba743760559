"""The findings of the diagnosis, one file each; the order breaks ties between equal bounds, the more specific first."""

from __future__ import annotations

from typing import Final

from ..finding import Rule
from .accidental_double import AccidentalDouble
from .bank_conflicts import BankConflicts
from .divergent_threads import DivergentThreads
from .excess_traffic import ExcessTraffic
from .fusible_launches import FusibleLaunches
from .instruction_bound import InstructionBound
from .launch_or_sync_bound import LaunchOrSyncBound
from .low_occupancy import LowOccupancy
from .narrow_loads import NarrowLoads
from .near_floor import NearFloor
from .redundant_threads import RedundantThreads
from .register_spills import RegisterSpills
from .same_address_atomics import SameAddressAtomics
from .special_function_bound import SpecialFunctionBound
from .stall_mix import StallMix
from .tensor_cores_unused import TensorCoresUnused
from .tensor_cores_waiting import TensorCoresWaiting
from .too_few_blocks import TooFewBlocks
from .uncoalesced_access import UncoalescedAccess
from .wasteful_algorithm import WastefulAlgorithm

RULES: Final[tuple[Rule, ...]] = (
    NearFloor(),
    SameAddressAtomics(),
    RedundantThreads(),
    WastefulAlgorithm(),
    TensorCoresUnused(),
    TensorCoresWaiting(),
    TooFewBlocks(),
    LaunchOrSyncBound(),
    FusibleLaunches(),
    UncoalescedAccess(),
    BankConflicts(),
    RegisterSpills(),
    AccidentalDouble(),
    SpecialFunctionBound(),
    InstructionBound(),
    ExcessTraffic(),
    DivergentThreads(),
    LowOccupancy(),
    NarrowLoads(),
)
"""Every finding but the stall mix, which speaks only where these are silent."""

STALL_MIX: Final = StallMix()
