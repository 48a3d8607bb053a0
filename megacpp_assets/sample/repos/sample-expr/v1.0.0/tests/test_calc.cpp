// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include "check.hpp"
#include "expr/calc.hpp"

using namespace expr::calc;

namespace {

struct example {
  const char *text;
  status code;
  double value;
};

const environment env = {{"x", 3}, {"half", 0.5}};

const example examples[] = {
    {"1 + 2 * 3", status::ok, 7},
    {"(1 + 2) * 3", status::ok, 9},
    {"10 - 4 - 3", status::ok, 3},
    {"-x * -half", status::ok, 1.5},
    {" 7/2 ", status::ok, 3.5},
    {"1 / (x - 3)", status::division_by_zero, 0},
    {"y + 1", status::unknown_variable, 0},
    {"2 *", status::syntax_error, 0},
    {"(1", status::syntax_error, 0},
    {"1 2", status::syntax_error, 0},
};

}  // namespace

int main() {
  for (const example &e : examples) {
    const outcome o = evaluate(e.text, env);
    CHECK(o.code == e.code);
    if (e.code == status::ok)
      CHECK(check::near(o.value, e.value));
  }
  const node_ptr tree = parse_expression("a - b - -c * 2");
  CHECK(tree && to_string(*tree) == "((a - b) - (-c * 2))");
  return check::failures != 0;
}
