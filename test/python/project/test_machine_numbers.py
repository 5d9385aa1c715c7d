"""No number of a machine stands outside the tables of `lowering/target`.

Whether a number is one of a machine only a reader can tell. So each constant of the code that
chooses and builds kernels, or runs them, is listed here with what it is; one that is not fails
the test, and its author says what it is, or moves it to `lowering/target/core.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]

FOLDERS = ("glow/backends/cpu", "lowering", "glow/runtime")
APART = ("lowering/target/", "glow/runtime/calibration/", "glow/runtime/linking/")
"""The tables, what measures their figures, and the format of object files."""

KNOWN = {
    "the format of data, of numbers, or of an instruction": """
        BYTES HIGH_BIT LIMIT LOW_BITS MASK ROUNDER ROUNDER_BITS STEP
        ADDRESS_BYTES BITS BYTE DYNAMIC EXACT_BITS EXACT_F32 EXPONENT_BITS F32_BYTES FACTORS
        HIGH_HALF INDEX_BITS INFINITY ITEM_BYTES LANES LEVELS LONGEST LOWEST MAGNITUDE MATRIX_AXES
        NOT_EQUAL PARAMETER_BYTES SHIFT SIGN SIGNED_LESS SUM_BITS TICK_BYTES WORD WORD_BYTES
        _MASK _NAN _WORD_BYTES BLOCKED_RANK GEP_LIMIT MAX_DEPTH SIGNS STRASSEN_LEVELS LARGEST_BOUND
        DIGIT_BITS INFINITIES MOST_ELEMENTS _DOUBLE ORDERED_LESS WHOLE LEAST_ALIGNMENT BEFORE AFTER
        MAX_LANES SIGNED_BITS FIRST_UNSIGNED ORDERED_GREATER WIDE_ADDRESS ROW_BYTES
        INT8_ITEM_BYTES LARGEST_BYTE LARGEST_INT8 PAIR SUM_BYTES WRITTEN CURRENT_ROUNDING
        AXES_OF_SLICES MOST_ROWS ROWS BYTE_BITS TABLE ROW OTHER_ROWS WORD_BITS MANTISSA_BITS MATRIX
        INT16 LOW_BYTE VOLUME_AXES FIRST_PIXEL MATRICES_RANK IMAGE_AXES
    """,
    "mathematics: coefficients, and how an algorithm is built": """
        ACCURATE_PATCHES PRODUCTS QUADRANTS SMALLEST_SIZE _BLOCKS _DENORMAL_SHIFT _ERF_LIMIT
        _LARGEST_EXPONENT _LN2_HIGH _LN2_LOW _LOG2_E _MANTISSA_MASK _ROUNDING _ROUNDING_BITS
        _SMALLEST_EXPONENT _SMALLEST_NORMAL _SQRT_HALF_BITS _TANH_LIMIT _TANH_ONE
        _DIGITS _HALF_PI_HIGH _HALF_PI_LOW _HIGH_BITS _IMPLIED_BIT _LEAST _LN2 _MANTISSA_BITS _MOST
        _MOST_TURNS _PI _TABLE_START _TAN_3_PI_8 _TAN_PI_8 _TWO_OVER_LN2 _TWO_OVER_LN2_REST
        _TWO_OVER_PI _WHOLE KERNEL
    """,
    "how far results may be from direct sums": """
        LEAST_SHARE MOST_UNEVEN WIDE_CHANNELS MOST_WEIGHTS
    """,
    "how much code there may be, which takes time to compile": """
        CODE_GENERATION_LEVEL COPIED_BLOCKS COPIED_PIXELS FAST_GENERATION_LEVEL FILLED_BYTES
        FINISHED_PIXELS FINISHED_REGISTERS LONG_EPILOGUE
        MAX_ACCUMULATORS MAX_ARGUMENTS MAX_BLOCKS MAX_BLOCKS_OF_VECTOR MAX_GROUP
        MAX_JOINED MAX_PIXELS MAX_RESIDUALS MAX_SOURCE_STEPS MAX_STEPS MAX_UNITS MAX_UNROLLED_PIXELS
        LEAST_BLOCK LEAST_RUN MAX_UNROLLED_SIDES MAX_UNROLLED_TAPS MOST_PARTS MOST_PENDING
        OBJECTS_A_COLLECTION
        PIXELS_AT_ONCE REGISTERS REGISTERS_PER_VECTOR ROWS_TOGETHER _DOT_COLUMNS _DOT_ROWS
        _SMALLEST_SQUARE MAX_REPEATS MOST_NUMBERS SUM_REGISTERS FEW_REGISTERS
        BODIES FEW_COLUMNS MANY_WEIGHTS FEW_TILES LEAST_PART MOST_BORDER_TILES MOST_PHASES
    """,
    "into how many parts work is cut, so that threads have equal shares": """
        ENOUGH_WORK_ITEMS FEW_LINES FEW_WORK_ITEMS MANY_ROWS MANY_WORK_ITEMS MAX_FUSED_WORK_ITEMS
        FEWEST_BLOCKS MOST_BLOCKS SERIAL_PRODUCT SHORTEST_CHUNK WANTED_GROUPS
        THREADS WANTED_WORK_ITEMS LARGE_PLANE
    """,
    "a share or a count in a cost model, which the numbers of a core multiply": """
        WASTE CALL_CYCLES CONFIGURE_CYCLES FEWEST_ROWS LOSS OTHERS SHARE_OF_PEAK STRIDED_READS
        START_CYCLES
        STEPS_OF_A_FUNCTION
        BLOCK_ROWS GAIN IN_PLACE LEAST_CACHES LEAST_GAIN LOOP_EXITS MIN_MAX_ROWS MIN_QUERIES
        LEAST_OUTPUTS
        KEY_STEP MIN_ROW MIN_ROWS MOST_RUNS MOST_SLOWER OTHER_REGISTERS OTHER_WAYS PACK_ROWS PASSES
        SECOND_PART_PENALTY EXPOSED_WEIGHTS NORM ROWS_SHARE WEIGHTS_SHARE
        SHARED_LOSS SMALL_BLOCK_CYCLES STORES TABLE_LOADS TAP_LOOPS TILE_BLOCKS TOUCHED_PER_CYCLE
        WINOGRAD_MARGIN WORTHWHILE _A_TRAFFIC _B_TRAFFIC _LOOP_EXITS _STORES
    """,
    "how far ahead data is asked for: more than any memory takes, which costs little, or where": """
        CHANNELS_AHEAD MOST_PREFETCH NEAR STREAMS USUAL_PREFETCH _STEPS_AHEAD
    """,
    "how much memory may be used: stacks, scratch, weights, caches on disk": """
        BAND_BYTES MOST_BYTES
        CHUNK_ELEMENTS LARGE_BYTES LIMIT_MEGABYTES MAX_BYTES MAX_KEY_ELEMENTS
        DEPTH_BLOCK MAX_ROW MAX_SUMS PANEL_BYTES PIECE PIECE_BYTES STACK_BYTES
        SCRATCH_TILES BLOCK GIB SHARED_BYTES BLOCK_ELEMENTS RESULTS_KEPT MAX_PANEL_BYTES
        MAX_SUM_BYTES SORTED_ROWS MOST_MATRICES MOST_REPEATED
    """,
    "the lines of caches, 64 bytes on all cores, or less": """
        ALIGNMENT BARRIER_BYTES LINE_BYTES
    """,
    "how a search measures: candidates, runs, how long each takes": """
        BLOCK_SECONDS COLD_SHARE CUTS EARLY LEAST_WAIT LONGEST_NANOSECONDS MOST MOST_LEARNED
        MOST_LOST_NANOSECONDS NETWORKS PROFILED_RUNS ROUNDS TIME_PER_LOST UNLIKE
    """,
    "how measured figures are told from noise": """
        IMPOSSIBLE NOISE
    """,
    "the operating system: pages, threads, files, time slices": """
        LOW_PRIORITY
        ABANDONED_SECONDS CYCLES_BEFORE_PARKING CYCLES_BEFORE_YIELDING DIGEST_BYTES
        MAX_THREADS
        OWNER_ONLY PAGE_BYTES PRUNE_SECONDS SECONDS
        IN_PLACE_BYTES SINGLE_THREAD_BYTES WORKERS
    """,
}
"""The constants by what they are."""


def constants() -> Iterator[tuple[Path, str]]:
    """The constants of the folders whose value is a number, with their files."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            place = path.relative_to(ROOT)
            if not place.as_posix().startswith(APART):
                for name in numbers_of(ast.parse(path.read_text(encoding="utf-8"))):
                    yield place, name


def numbers_of(module: ast.Module) -> Iterator[str]:
    """The names in capitals to which a module assigns numbers."""
    for statement in module.body:
        if isinstance(statement, ast.Assign):
            (target,) = statement.targets
            yield from assigned(target, statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            yield from assigned(statement.target, statement.value)


def assigned(target: ast.expr, value: ast.expr) -> Iterator[str]:
    """The names of an assignment that get numbers."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, part in zip(target.elts, value.elts, strict=True):
            yield from assigned(one, part)
    elif isinstance(target, ast.Name) and target.id.isupper() and is_number(value):
        yield target.id


def is_number(value: ast.expr) -> bool:
    """Whether an expression is a number, or arithmetic with numbers and constants."""
    if isinstance(value, ast.BinOp):
        return is_number(value.left) or is_number(value.right)
    if isinstance(value, ast.UnaryOp):
        return is_number(value.operand)
    if isinstance(value, ast.Dict):
        return any(is_number(part) for part in value.values)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def test_constants_are_known() -> None:
    known = {name for names in KNOWN.values() for name in names.split()}
    new = [f"{place}: {name}" for place, name in constants() if name not in known]
    assert not new, f"a number of a machine, or which of {list(KNOWN)}? {new}"


def test_known_constants_exist() -> None:
    found = {name for _, name in constants()}
    listed = [name for names in KNOWN.values() for name in names.split()]
    assert len(set(listed)) == len(listed)
    assert not set(listed) - found


def test_numbers_are_found() -> None:
    text = "A = 2 * MIB\nB, C = 1, 'x'\nD: float = -0.5\nE = {1: 2}\nF = len('x')\nlow = 3\n"
    assert list(numbers_of(ast.parse(text))) == ["A", "B", "D", "E"]
