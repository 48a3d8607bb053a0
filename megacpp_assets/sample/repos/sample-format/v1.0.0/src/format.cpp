// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include "strf/format.h"

#include "write.h"

namespace strf {

void fail(const char* message) { throw format_error(message); }

namespace {

/// Interprets a format string against erased arguments.
class format_handler {
 public:
  format_handler(buffer& out, format_args args) : ctx_(out, args) {}

  void on_text(const char* first, const char* last) {
    ctx_.out().append({first, static_cast<std::size_t>(last - first)});
  }

  void on_field(int id, parse_context& parse) {
    const format_arg arg = ctx_.arg(id);
    arg.visit([&](const auto& v) {
      using T = std::decay_t<decltype(v)>;
      if constexpr (std::is_same_v<T, detail::custom_value>) {
        v.format(v.object, parse, ctx_);
      } else {
        const format_spec spec = parse_spec(parse);
        detail::check_spec(arg.type(), spec);
        detail::write(ctx_.out(), v, spec);
      }
    });
  }

 private:
  format_context ctx_;
};

}  // namespace

namespace detail {

void write_arg(format_context& ctx, const format_arg& arg, const format_spec& spec) {
  arg.visit([&](const auto& v) {
    if constexpr (!std::is_same_v<std::decay_t<decltype(v)>, custom_value>)
      write(ctx.out(), v, spec);
  });
}

}  // namespace detail

void vformat_to(buffer& out, std::string_view fmt, format_args args) {
  parse_context ctx(fmt, args.size);
  format_handler handler(out, args);
  parse_format_string(ctx, handler);
}

std::string vformat(std::string_view fmt, format_args args) {
  memory_buffer out;
  vformat_to(out, fmt, args);
  return std::string(out.view());
}

void vprint(std::FILE* file, std::string_view fmt, format_args args) {
  memory_buffer out;
  vformat_to(out, fmt, args);
  std::fwrite(out.data(), 1, out.size(), file);
}

}  // namespace strf
