// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef EXPR_CALC_HPP
#define EXPR_CALC_HPP

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "expr/one_of.hpp"

namespace expr {
namespace calc {

struct node;
using node_ptr = std::unique_ptr<const node>;

struct number {
  double value;
};
struct variable {
  std::string name;
};
struct negation {
  node_ptr operand;
};
struct binary {
  char op;
  node_ptr lhs, rhs;
};

/// Abstract syntax of an arithmetic expression.
struct node {
  using content_type = one_of<number, variable, negation, binary>;
  content_type content;
};

enum class status { ok, syntax_error, unknown_variable, division_by_zero };

struct outcome {
  status code = status::ok;
  double value = 0;
};

using environment = std::map<std::string, double, std::less<>>;

/// Null when the text is not an expression.
node_ptr parse_expression(std::string_view text);

/// Fully parenthesised rendering.
std::string to_string(const node &n);

outcome evaluate(const node &n, const environment &env);

/// Parses and evaluates in one step.
outcome evaluate(std::string_view text, const environment &env = {});

}  // namespace calc
}  // namespace expr

#endif  // EXPR_CALC_HPP
