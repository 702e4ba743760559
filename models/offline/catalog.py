"""All rules, by the gain to hope for."""

from __future__ import annotations

from .rule import Rule
from .rules.block_reduce import BlockReduce
from .rules.block_scan import BlockScan
from .rules.early_launch import EarlyLaunch
from .rules.fixed_window import FixedWindow
from .rules.flatten import Flatten
from .rules.float_literals import FloatLiterals
from .rules.fuse_launches import FuseLaunches
from .rules.fuse_levels import FuseLevels
from .rules.grid_stride import GridStride
from .rules.hoist_columns import HoistColumns
from .rules.join_border import JoinBorder
from .rules.keep_rows import KeepRows
from .rules.log_in_sums import LogInSums
from .rules.march_rows import MarchRows
from .rules.narrow_index import NarrowIndex
from .rules.one_block import OneBlock
from .rules.own_sums import OwnSums
from .rules.pack_items import PackItems
from .rules.partial_sums import PartialSums
from .rules.point_patches import PointPatches
from .rules.rank_merge import RankMerge
from .rules.restrict import Restrict
from .rules.row_cooperative import RowCooperative
from .rules.share_trigonometry import ShareTrigonometry
from .rules.skip_idle_turns import SkipIdleTurns
from .rules.sliding_window import SlidingWindow
from .rules.spread_rows import SpreadRows
from .rules.swap_axes import SwapAxes
from .rules.tile_product import TileProduct
from .rules.tile_transpose import TileTranspose
from .rules.vector_columns import VectorColumns
from .rules.vectorize import Vectorize

RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            RankMerge(),
            BlockScan(),
            TileProduct(),
            SlidingWindow(),
            RowCooperative(),
            GridStride(),
            BlockReduce(),
            VectorColumns(),
            JoinBorder(),
            PointPatches(),
            MarchRows(),
            SwapAxes(),
            TileTranspose(),
            FloatLiterals(),
            Flatten(),
            FuseLevels(),
            FuseLaunches(),
            PackItems(),
            PartialSums(),
            OneBlock(),
            OwnSums(),
            SkipIdleTurns(),
            SpreadRows(),
            Vectorize(),
            HoistColumns(),
            ShareTrigonometry(),
            KeepRows(),
            LogInSums(),
            NarrowIndex(),
            FixedWindow(),
            Restrict(),
            EarlyLaunch(),
        ),
        key=lambda rule: -rule.worth,
    )
)


def rule_named(name: str) -> Rule | None:
    """Return a rule by its strategy's name."""
    return next((rule for rule in RULES if rule.name == name), None)
