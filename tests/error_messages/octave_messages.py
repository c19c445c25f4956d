"""The messages of Octave: see record.py."""

from record import CodeRecorder, octave

rec = CodeRecorder("octave", octave())
case, other = rec.broadcast, rec.other
case("ones(3, 4) + ones(5, 1);", "octave.plus", (3, 4), (5, 1))
case("x = ones(2, 64, 7, 7); y = ones(64, 1);\nx .* y;", "octave.plus", (2, 64, 7, 7), (64, 1), holds=True)
case("ones(8, 1, 6) - ones(7, 2, 5);", "octave.plus", (8, 1, 6), (7, 2, 5), holds=True)
case("ones(2, 3) ./ ones(3, 2);", "octave.plus", (2, 3), (3, 2))
case("ones(2, 3) .^ ones(3, 2);", "octave.plus", (2, 3), (3, 2))
case("ones(2, 3) == ones(3, 2);", "octave.plus", (2, 3), (3, 2))
case("max(ones(0, 1), ones(2, 4));", "octave.plus", (0, 1), (2, 4))
case("int8(ones(3, 4)) + ones(5, 1);", "octave.plus", (3, 4), (5, 1))
case("bsxfun(@times, ones(8, 1, 6), ones(7, 2, 5));", "octave.plus", (8, 1, 6), (7, 2, 5), holds=True)
case("ones(3, 4) * ones(5, 1);", None)
case("ones(3, 4) \\ ones(5, 1);", None)
case("ones(3, 4) / ones(5, 1);", None)
case("x = ones(3, 4);\nx += ones(5, 1);", None)
case("x = ones(3, 4);\nx(:, :) = ones(5, 1);", None)
case("xor(ones(3, 4), ones(5, 1));", None)
other("[ones(2, 3); ones(2, 4)];")
other("[ones(2, 3), ones(3, 3)];")
other("reshape(1:6, [4 2]);")
other("permute(ones(2, 3), [1 2 2]);")
other("ones(2, 3)(:, 5);")
other("inv(ones(2, 3));")
other("sum(ones(2, 3), -1);")
rec.write()
