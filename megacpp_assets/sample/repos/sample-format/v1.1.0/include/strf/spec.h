// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef STRF_SPEC_H
#define STRF_SPEC_H

#include <stdexcept>
#include <string_view>

namespace strf {

class format_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Not constexpr on purpose: reaching it during constant evaluation turns a
/// bad format string into a compile-time error.
[[noreturn]] void fail(const char* message);

enum class align : unsigned char { none, left, right, center };
enum class sign : unsigned char { minus, plus, space };

/// `[[fill]align][sign][#][0][width][.precision][type]`, where width and
/// precision are numbers or nested fields naming an argument.
struct format_spec {
  char fill = ' ';
  strf::align align = strf::align::none;
  strf::sign sign = strf::sign::minus;
  bool alternate = false;
  bool zero_pad = false;
  int width = 0;
  int precision = -1;
  int width_arg = -1;      ///< argument that holds the width, if any
  int precision_arg = -1;  ///< likewise; `precision` is 0 until resolved
  char type = 0;
};

/// The unparsed rest of a format string, and the state of argument indexing.
class parse_context {
 public:
  using iterator = const char*;

  constexpr explicit parse_context(std::string_view text, int num_args)
      : begin_(text.data()), end_(text.data() + text.size()), num_args_(num_args) {}

  constexpr iterator begin() const { return begin_; }
  constexpr iterator end() const { return end_; }
  constexpr void advance_to(iterator it) { begin_ = it; }
  constexpr bool at(char c) const { return begin_ != end_ && *begin_ == c; }

  constexpr bool consume(char c) {
    if (!at(c)) return false;
    ++begin_;
    return true;
  }

  constexpr int next_arg_id() {
    if (next_id_ < 0) fail("cannot mix manual and automatic argument indexing");
    return in_range(next_id_++);
  }

  constexpr int manual_arg_id(int id) {
    if (next_id_ > 0) fail("cannot mix manual and automatic argument indexing");
    next_id_ = -1;
    return in_range(id);
  }

 private:
  constexpr int in_range(int id) const {
    if (id >= num_args_) fail("argument index out of range");
    return id;
  }

  iterator begin_;
  iterator end_;
  int num_args_;
  int next_id_ = 0;
};

namespace detail {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads a run of digits; the caller has seen the first one.
constexpr int parse_number(parse_context& ctx) {
  int value = 0;
  auto it = ctx.begin();
  for (; it != ctx.end() && is_digit(*it); ++it) {
    if (value > 99'999'999) fail("number is too big");
    value = value * 10 + (*it - '0');
  }
  ctx.advance_to(it);
  return value;
}

constexpr bool at_number(const parse_context& ctx) {
  return ctx.begin() != ctx.end() && is_digit(*ctx.begin());
}

constexpr align to_align(char c) {
  switch (c) {
    case '<': return align::left;
    case '>': return align::right;
    case '^': return align::center;
    default: return align::none;
  }
}

constexpr void parse_align(parse_context& ctx, format_spec& spec) {
  const auto it = ctx.begin();
  if (ctx.end() - it >= 2 && to_align(it[1]) != align::none) {
    if (*it == '{' || *it == '}') fail("invalid fill character");
    spec.fill = it[0];
    spec.align = to_align(it[1]);
    ctx.advance_to(it + 2);
  } else if (it != ctx.end() && to_align(*it) != align::none) {
    spec.align = to_align(*it);
    ctx.advance_to(it + 1);
  }
}

constexpr bool is_type_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '?';
}

constexpr int parse_arg_id(parse_context& ctx) {
  return at_number(ctx) ? ctx.manual_arg_id(parse_number(ctx)) : ctx.next_arg_id();
}

/// Parses the rest of a nested `{}` or `{id}` field after its brace.
constexpr int parse_nested_field(parse_context& ctx) {
  const int id = parse_arg_id(ctx);
  if (!ctx.consume('}')) fail("invalid nested replacement field");
  return id;
}

constexpr void parse_width(parse_context& ctx, format_spec& spec) {
  if (ctx.consume('{'))
    spec.width_arg = parse_nested_field(ctx);
  else if (at_number(ctx))
    spec.width = parse_number(ctx);
}

constexpr void parse_precision(parse_context& ctx, format_spec& spec) {
  if (!ctx.consume('.')) return;
  if (ctx.consume('{')) {
    spec.precision_arg = parse_nested_field(ctx);
    spec.precision = 0;
  } else if (at_number(ctx)) {
    spec.precision = parse_number(ctx);
  } else {
    fail("missing precision");
  }
}

}  // namespace detail

/// Parses a standard specification and stops at the closing brace.
constexpr format_spec parse_spec(parse_context& ctx) {
  format_spec spec;
  detail::parse_align(ctx, spec);
  if (ctx.consume('+'))
    spec.sign = sign::plus;
  else if (ctx.consume(' '))
    spec.sign = sign::space;
  else
    ctx.consume('-');
  spec.alternate = ctx.consume('#');
  spec.zero_pad = ctx.consume('0');
  detail::parse_width(ctx, spec);
  detail::parse_precision(ctx, spec);
  if (ctx.begin() != ctx.end() && detail::is_type_char(*ctx.begin())) {
    spec.type = *ctx.begin();
    ctx.advance_to(ctx.begin() + 1);
  }
  return spec;
}

/// Splits a format string into literal text and replacement fields. The
/// handler's `on_field(id, ctx)` must leave `ctx` at the closing brace.
template <typename Handler>
constexpr void parse_format_string(parse_context& ctx, Handler& handler) {
  const char* text = ctx.begin();
  const char* it = text;
  while (it != ctx.end()) {
    const char c = *it++;
    if (c != '{' && c != '}') continue;
    if (it != ctx.end() && *it == c) {  // doubled brace: keep one of them
      handler.on_text(text, it);
      text = ++it;
      continue;
    }
    if (c == '}') fail("unmatched '}' in format string");
    handler.on_text(text, it - 1);
    ctx.advance_to(it);
    const int id = detail::parse_arg_id(ctx);
    if (!ctx.consume(':') && !ctx.at('}')) fail("missing '}' in format string");
    handler.on_field(id, ctx);
    if (!ctx.consume('}')) fail("invalid format specification");
    text = it = ctx.begin();
  }
  handler.on_text(text, it);
}

}  // namespace strf

#endif  // STRF_SPEC_H
