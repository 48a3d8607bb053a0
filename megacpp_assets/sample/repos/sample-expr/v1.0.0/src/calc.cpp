// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include "expr/calc.hpp"

#include <cstdio>
#include <cstdlib>

#include "expr/parse.hpp"

namespace expr {
namespace calc {
namespace {

bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_numeric(char c) { return (c >= '0' && c <= '9') || c == '.'; }

template <typename T>
node_ptr make_node(T content) {
  return std::make_unique<const node>(node{std::move(content)});
}

node_ptr make_binary(node_ptr lhs, char op, node_ptr rhs) {
  return make_node(binary{op, std::move(lhs), std::move(rhs)});
}

// The grammar is recursive, so each level is an ordinary function that
// assembles its combinators.
parse::result<node_ptr> sum(std::string_view in);

parse::result<node_ptr> atom(std::string_view in) {
  const auto literal = parse::map(parse::run_of(is_numeric), [](auto digits) {
    return make_node(number{std::strtod(std::string(digits).c_str(), nullptr)});
  });
  const auto name = parse::map(parse::run_of(is_alpha), [](auto text) {
    return make_node(variable{std::string(text)});
  });
  return parse::either(literal, name, parse::between('(', sum, ')'))(in);
}

parse::result<node_ptr> factor(std::string_view in) {
  const auto negated =
      parse::map(parse::both(parse::one_char("-"), factor), [](auto parts) {
        return make_node(negation{std::move(parts.second)});
      });
  return parse::either(negated, atom)(in);
}

parse::result<node_ptr> product(std::string_view in) {
  return parse::chain_left(factor, parse::one_char("*/"), make_binary)(in);
}

parse::result<node_ptr> sum(std::string_view in) {
  return parse::chain_left(product, parse::one_char("+-"), make_binary)(in);
}

outcome apply(char op, double l, double r) {
  switch (op) {
  case '+':
    return {status::ok, l + r};
  case '-':
    return {status::ok, l - r};
  case '*':
    return {status::ok, l * r};
  case '/':
    if (r == 0)
      return {status::division_by_zero, 0};
    return {status::ok, l / r};
  }
  return {status::syntax_error, 0};
}

std::string format_number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", v);
  return text;
}

/// Evaluates a tree; a failed operand ends the walk.
class evaluator {
public:
  explicit evaluator(const environment &env) : env_(env) {}

  outcome operator()(const number &n) const { return {status::ok, n.value}; }

  outcome operator()(const variable &v) const {
    const auto it = env_.find(v.name);
    if (it == env_.end())
      return {status::unknown_variable, 0};
    return {status::ok, it->second};
  }

  outcome operator()(const negation &n) const {
    outcome o = n.operand->content.visit(*this);
    o.value = -o.value;
    return o;
  }

  outcome operator()(const binary &b) const {
    const outcome l = b.lhs->content.visit(*this);
    if (l.code != status::ok)
      return l;
    const outcome r = b.rhs->content.visit(*this);
    return r.code == status::ok ? apply(b.op, l.value, r.value) : r;
  }

private:
  const environment &env_;
};

}  // namespace

node_ptr parse_expression(std::string_view text) {
  auto r = sum(text);
  if (!r || !parse::skip_space(r->rest).empty())
    return nullptr;
  return std::move(r->value);
}

std::string to_string(const node &n) {
  return n.content.visit(overloaded{
      [](const number &v) { return format_number(v.value); },
      [](const variable &v) { return v.name; },
      [](const negation &v) { return "-" + to_string(*v.operand); },
      [](const binary &v) {
        return "(" + to_string(*v.lhs) + " " + v.op + " " + to_string(*v.rhs) + ")";
      },
  });
}

outcome evaluate(const node &n, const environment &env) {
  return n.content.visit(evaluator(env));
}

outcome evaluate(std::string_view text, const environment &env) {
  const node_ptr root = parse_expression(text);
  return root ? evaluate(*root, env) : outcome{status::syntax_error, 0};
}

}  // namespace calc
}  // namespace expr
