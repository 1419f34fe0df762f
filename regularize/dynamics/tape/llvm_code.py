"""Programs as LLVM's assembly: a function of one state, or of several side by side in vectors.

The function computes a group of states, of which each has a row in arrays of its own::

    void run(const double *const *in, const int64_t *in_step,
             double *const *out, const int64_t *out_step, int64_t last, char *sound)

``in_step`` and ``out_step`` tell how many numbers rows are apart. Lanes behind the ``last`` one
compute its state again. ``sound`` becomes 1 for states whose margins are positive, whose results
are finite, and whose angles are near enough.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from regularize.dynamics.tape.program import Number, Program
from regularize.errors import UnsupportedExport

#: Name of the function.
ENTRY = "run"
#: Angle beyond which the reduction to a quarter turn loses digits.
FAR = 1e5
_INFIX = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
#: pi/2 in three parts (Cody and Waite), and coefficients of the sine and the cosine within a
#: quarter turn by falling powers of the square (fdlibm).
_QUARTER = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_SINE = (
    1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
    -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01,
)  # fmt: skip
_COSINE = (
    -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
    2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02, -0.5, 1.0,
)  # fmt: skip
#: What adds a number leaves its nearest whole one in the last digits.
_MAGIC = 6755399441055744.0
#: Tangent of pi/8, and numerator and denominator of the arc tangent below it, by falling powers of
#: the square (Cephes).
_EIGHTH = 0.41421356237309503
_ABOVE = (
    -8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1,
    -1.228866684490136173410e2, -6.485021904942025371773e1, 0.0,
)  # fmt: skip
_BELOW = (
    1.0, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2,
    4.853903996359136964868e2, 1.945506571482613964425e2,
)  # fmt: skip


def assembly(program: Program, inputs: Sequence[int], outputs: Sequence[int], lanes: int) -> str:
    """Return the function of a program for so many states side by side."""
    code = _Code(lanes)
    arrays = [
        _Array(code, row, length)
        for row, length in zip(code.rows("in", len(inputs)), inputs, strict=True)
    ]
    places = [(array, k) for array in arrays for k in range(array.length)]
    variables = {x.index: place for x, place in zip(program.variables, places, strict=True)}
    values: dict[int, str] = {}
    for x in program.lines:
        if x.operation == "variable":
            array, k = variables[x.index]
            values[x.index] = array.load(k)
        else:
            values[x.index] = code.value(x, [values[i] for i in x.arguments])
    results, count = [values[x.index] for x in program.results], sum(outputs)
    for margin in results[count:]:
        code.require(code.compare("ogt", margin, code.number(0.0)))
    # Zero times what is not finite is not a number.
    total = code.number(0.0)
    for result in results[:count]:
        total = code.add(code.multiply(result, code.number(0.0)), total)
    code.require(code.compare("oeq", total, code.number(0.0)))
    begin = 0
    for row, length in zip(code.rows("out", len(outputs)), outputs, strict=True):
        _Array(code, row, length).store(results[begin : begin + length])
        begin += length
    return code.function()


class _Code:
    """Lines of assembly for numbers of so many states; methods return the names of values."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.reals, self.wholes, self.flags = (
            (kind if lanes == 1 else f"<{lanes} x {kind}>") for kind in ("double", "i64", "i1")
        )
        self._lines: list[str] = []
        self._names = 0
        self._sound = ""
        self._turns: dict[str, tuple[str, str]] = {}

    def _put(self, text: str) -> str:
        """Append an instruction, and return the name of its value."""
        self._names += 1
        self._lines.append(f"%t{self._names} = {text}")
        return f"%t{self._names}"

    def function(self) -> str:
        """Return the whole function."""
        kind = "i8" if self.lanes == 1 else f"<{self.lanes} x i8>"
        sound = self._put(f"zext {self.flags} {self._sound} to {kind}")
        suffix = self._suffix()
        declared = [
            f"declare {self.reals} @llvm.{name}.{suffix}({', '.join([self.reals] * count)})"
            for name, count in (("fabs", 1), ("sqrt", 1), ("copysign", 2))
        ]
        arguments = "ptr noalias %in, ptr noalias %in_step, ptr noalias %out, "
        arguments += "ptr noalias %out_step, i64 %last, ptr noalias %sound"
        wide = f'"min-legal-vector-width"="{64 * self.lanes}"'
        return "\n".join([
            *declared, "declare i64 @llvm.umin.i64(i64, i64)",
            f"define void @{ENTRY}({arguments}) nounwind {wide} {{", *self._lines,
            f"store {kind} {sound}, ptr %sound, align 1", "ret void", "}", "",
        ])  # fmt: skip

    def _suffix(self) -> str:
        """Return how names of LLVM's functions end for these numbers."""
        return "f64" if self.lanes == 1 else f"v{self.lanes}f64"

    # Rows of arrays.

    def rows(self, name: str, count: int) -> list[list[str]]:
        """Return, for each array of the inputs or outputs, a pointer to the row of each lane."""
        result = []
        for a in range(count):
            first = self._put(f"load ptr, ptr {self._at(f'%{name}', a, 'ptr')}")
            step = self._put(f"load i64, ptr {self._at(f'%{name}_step', a, 'i64')}")
            row = [first]
            for lane in range(1, self.lanes):
                place = self._put(f"call i64 @llvm.umin.i64(i64 {lane}, i64 %last)")
                row.append(self._at(first, self._put(f"mul i64 {place}, {step}")))
            result.append(row)
        return result

    def _at(self, pointer: str, place: int | str, kind: str = "double") -> str:
        """Return a pointer to an item so many places behind another one."""
        return self._put(f"getelementptr {kind}, ptr {pointer}, i64 {place}")

    def load(self, row: Sequence[str], k: int) -> str:
        """Return the k-th numbers of the rows of all lanes."""
        numbers = [self._put(f"load double, ptr {self._at(x, k)}, align 8") for x in row]
        if self.lanes == 1:
            return numbers[0]
        vector = "poison"
        for lane, x in enumerate(numbers):
            vector = self._put(f"insertelement {self.reals} {vector}, double {x}, i64 {lane}")
        return vector

    def store(self, vector: str, row: Sequence[str], k: int) -> None:
        """Write numbers of all lanes to the k-th places of their rows."""
        for lane, pointer in enumerate(row):
            x = vector
            if self.lanes > 1:
                x = self._put(f"extractelement {self.reals} {vector}, i64 {lane}")
            self._lines.append(f"store double {x}, ptr {self._at(pointer, k)}, align 8")

    def load_block(self, row: Sequence[str], k: int) -> list[str]:
        """Return as many numbers of the rows as there are lanes, from the k-th ones on."""
        rows = [self._put(f"load {self.reals}, ptr {self._at(x, k)}, align 8") for x in row]
        return self._transposed(rows)

    def store_block(self, vectors: Sequence[str], row: Sequence[str], k: int) -> None:
        """Write as many numbers as there are lanes to places of their rows from the k-th on."""
        for x, pointer in zip(self._transposed(vectors), row, strict=True):
            self._lines.append(f"store {self.reals} {x}, ptr {self._at(pointer, k)}, align 8")

    def _transposed(self, vectors: Sequence[str]) -> list[str]:
        """Return the columns of a square of vectors: blocks are exchanged, of 1, 2, 4 ... each."""
        lanes, size, rows = range(self.lanes), 1, list(vectors)
        while size < self.lanes:
            for i in (i for i in lanes if not i & size):
                both = f"{self.reals} {rows[i]}, {self.reals} {rows[i + size]}"
                low = [self.lanes + j - size if j & size else j for j in lanes]
                high = [self.lanes + j if j & size else j + size for j in lanes]
                rows[i], rows[i + size] = (self._shuffled(both, x) for x in (low, high))
            size *= 2
        return rows

    def _shuffled(self, both: str, places: Sequence[int]) -> str:
        """Return numbers of two vectors by their places."""
        mask = ", ".join(f"i32 {i}" for i in places)
        return self._put(f"shufflevector {both}, <{self.lanes} x i32> <{mask}>")

    # Numbers.

    def number(self, value: float) -> str:
        """Return a constant."""
        (bits,) = struct.unpack("<Q", struct.pack("<d", value))
        return f"0x{bits:016X}" if self.lanes == 1 else f"splat (double 0x{bits:016X})"

    def _whole(self, value: int) -> str:
        """Return a constant whole number."""
        return str(value) if self.lanes == 1 else f"splat (i64 {value})"

    def _operation(self, operation: str, a: str, b: str) -> str:
        """Return an operation on numbers; a product and a sum may be one."""
        return self._put(f"{operation} contract {self.reals} {a}, {b}")

    def add(self, a: str, b: str) -> str:
        """Return a + b."""
        return self._operation("fadd", a, b)

    def subtract(self, a: str, b: str) -> str:
        """Return a - b."""
        return self._operation("fsub", a, b)

    def multiply(self, a: str, b: str) -> str:
        """Return a b."""
        return self._operation("fmul", a, b)

    def compare(self, how: str, a: str, b: str) -> str:
        """Return where two numbers compare as LLVM's word says, such as ``ogt``."""
        return self._put(f"fcmp {how} {self.reals} {a}, {b}")

    def require(self, flags: str) -> None:
        """Let states be sound only where a comparison holds."""
        both = f"and {self.flags} {self._sound}, {flags}"
        self._sound = self._put(both) if self._sound else flags

    def _choose(self, flags: str, a: str, b: str) -> str:
        """Return a where flags are set, else b."""
        return self._put(f"select {self.flags} {flags}, {self.reals} {a}, {self.reals} {b}")

    def _call(self, name: str, *numbers: str) -> str:
        """Return a function that LLVM knows."""
        given = ", ".join(f"{self.reals} {x}" for x in numbers)
        return self._put(f"call {self.reals} @llvm.{name}.{self._suffix()}({given})")

    def value(self, x: Number, arguments: Sequence[str]) -> str:
        """Return a number of the program from those that it is made of."""
        operation = x.operation
        if x.constant is not None:
            return self.number(x.constant)
        if operation in _INFIX:
            return self._operation(_INFIX[operation], arguments[0], arguments[1])
        match operation:
            case "negative":
                return self._put(f"fneg {self.reals} {arguments[0]}")
            case "sin" | "cos":
                return self._turn(arguments[0])[operation == "cos"]
            case "atan2":
                return self._angle(arguments[0], arguments[1])
            case "root" | "absolute":
                return self._call({"root": "sqrt", "absolute": "fabs"}[operation], arguments[0])
            case "maximum" | "minimum":
                how = "ogt" if operation == "maximum" else "olt"
                return self._choose(self.compare(how, *arguments), *arguments)
        raise UnsupportedExport(f"no LLVM code of the operation {operation!r}")

    def _polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """Return a polynomial by falling powers."""
        value = self.number(coefficients[0])
        for coefficient in coefficients[1:]:
            value = self.add(self.multiply(value, x), self.number(coefficient))
        return value

    def _turn(self, angle: str) -> tuple[str, str]:
        """Return sine and cosine of an angle; far angles are not sound."""
        if angle not in self._turns:
            self.require(self.compare("olt", self._call("fabs", angle), self.number(FAR)))
            turns, magic = self.multiply(angle, self.number(0.63661977236758134308)), _MAGIC
            shifted = self.add(turns, self.number(magic))
            quarters = self._put(f"bitcast {self.reals} {shifted} to {self.wholes}")
            count = self._put(f"fsub {self.reals} {shifted}, {self.number(magic)}")
            r = angle
            for part in _QUARTER:
                r = self.subtract(r, self.multiply(count, self.number(part)))
            z = self.multiply(r, r)
            sine = self.add(self.multiply(self.multiply(r, z), self._polynomial(z, _SINE)), r)
            cosine = self._polynomial(z, _COSINE)
            next_ = self._put(f"add {self.wholes} {quarters}, {self._whole(1)}")
            odd = self._put(f"and {self.wholes} {quarters}, {self._whole(1)}")
            odd = self._put(f"icmp ne {self.wholes} {odd}, {self._whole(0)}")
            self._turns[angle] = (
                self._signed(self._choose(odd, cosine, sine), quarters),
                self._signed(self._choose(odd, sine, cosine), next_),
            )
        return self._turns[angle]

    def _signed(self, x: str, quarters: str) -> str:
        """Return x with its sign changed in the second half of a turn."""
        half = self._put(f"and {self.wholes} {quarters}, {self._whole(2)}")
        sign = self._put(f"shl {self.wholes} {half}, {self._whole(62)}")
        bits = self._put(f"bitcast {self.reals} {x} to {self.wholes}")
        changed = self._put(f"xor {self.wholes} {bits}, {sign}")
        return self._put(f"bitcast {self.wholes} {changed} to {self.reals}")

    def _angle(self, y: str, x: str) -> str:
        """Return the angle of (x, y), between -pi and pi; 0 of the origin."""
        height, width, zero = self._call("fabs", y), self._call("fabs", x), self.number(0.0)
        steep = self.compare("ogt", height, width)
        most, least = self._choose(steep, height, width), self._choose(steep, width, height)
        most = self._choose(self.compare("oeq", most, zero), self.number(1.0), most)
        ratio = self._operation("fdiv", least, most)
        wide, one = self.compare("ogt", ratio, self.number(_EIGHTH)), self.number(1.0)
        beyond = self._operation("fdiv", self.subtract(ratio, one), self.add(ratio, one))
        r = self._choose(wide, beyond, ratio)
        z = self.multiply(r, r)
        part = self._operation("fdiv", self._polynomial(z, _ABOVE), self._polynomial(z, _BELOW))
        angle = self.add(r, self.multiply(r, part))
        eighth = 0.7853981633974483
        angle = self.add(angle, self._choose(wide, self.number(eighth), zero))
        angle = self._choose(steep, self.subtract(self.number(2.0 * eighth), angle), angle)
        behind = self.compare("olt", x, zero)
        angle = self._choose(behind, self.subtract(self.number(4.0 * eighth), angle), angle)
        return self._call("copysign", angle, y)


class _Array:
    """The rows of an array, loaded and stored in blocks of as many numbers as there are lanes."""

    def __init__(self, code: _Code, row: Sequence[str], length: int) -> None:
        self._code, self._row, self.length = code, row, length
        self._loaded: dict[int, str] = {}
        lanes = code.lanes
        #: How many numbers there are in whole blocks.
        self._whole = length // lanes * lanes if lanes > 1 else 0

    def load(self, k: int) -> str:
        """Return the k-th numbers of all lanes."""
        if k not in self._loaded:
            lanes = self._code.lanes
            if k < self._whole:
                first = k // lanes * lanes
                self._loaded |= enumerate(self._code.load_block(self._row, first), start=first)
            else:
                self._loaded[k] = self._code.load(self._row, k)
        return self._loaded[k]

    def store(self, vectors: Sequence[str]) -> None:
        """Write all numbers."""
        lanes = self._code.lanes
        for k in range(0, self._whole, lanes):
            self._code.store_block(vectors[k : k + lanes], self._row, k)
        for k in range(self._whole, self.length):
            self._code.store(vectors[k], self._row, k)
