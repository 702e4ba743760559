"""Source text without comments and literals."""

from __future__ import annotations

from cudamaster.tools.judge.code import code_only, line_of, tokens

SOURCE = """#include "a.h" // one
/* two
   three */ int x = 'a'; const char* s = "// no comment \\" here";
const char* r = R"(raw " // text)"; int y = 1'000;
#define A 1 + \\
  2
int z;
"""


def test_comments_and_literals_are_blank_and_lines_stay():
    code = code_only(SOURCE)
    for gone in ("one", "two", "three", "no comment", "raw", "here"):
        assert gone not in code
    for kept in ('#include "a.h"', "int x", "int y = 1'000;", "int z;"):
        assert kept in code
    assert code.count("\n") == SOURCE.count("\n")
    assert line_of(code, code.index("int z")) == line_of(SOURCE, SOURCE.index("int z"))


def test_a_word_split_by_a_backslash_is_joined():
    assert "cudaMalloc(" in code_only("cuda\\\nMalloc(p);")


def test_an_unclosed_comment_hides_the_rest():
    assert code_only("int a; /* int b;").strip() == "int a;"


def test_tokens_keep_literals_and_drop_comments():
    assert tokens('f(1.5e-3f, "a b"); // x') == ["f", "(", "1.5e-3f", ",", '"a b"', ")", ";"]
