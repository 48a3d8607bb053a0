// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef STRF_SRC_WRITE_H
#define STRF_SRC_WRITE_H

#include "strf/args.h"

namespace strf {
namespace detail {

/// Writes `body` padded to the width of `spec`.
void write_padded(buffer& out, std::string_view body, const format_spec& spec,
                  align fallback);

/// Same for numbers: zero padding goes between `prefix` and `digits`.
void write_number(buffer& out, std::string_view prefix, std::string_view digits,
                  const format_spec& spec);

/// "-", "+", " " or nothing, as `spec` asks for.
std::string_view sign_text(bool negative, const format_spec& spec);

void write(buffer& out, std::int64_t v, const format_spec& spec);
void write(buffer& out, std::uint64_t v, const format_spec& spec);
void write(buffer& out, bool v, const format_spec& spec);
void write(buffer& out, char v, const format_spec& spec);
void write(buffer& out, double v, const format_spec& spec);
void write(buffer& out, std::string_view v, const format_spec& spec);
void write(buffer& out, const void* v, const format_spec& spec);

}  // namespace detail
}  // namespace strf

#endif  // STRF_SRC_WRITE_H
