// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include "write.h"

namespace strf {
namespace detail {
namespace {

constexpr char lower_digits[] = "0123456789abcdef";
constexpr char upper_digits[] = "0123456789ABCDEF";

/// Room for 64 binary digits.
class digit_buffer {
 public:
  digit_buffer(std::uint64_t v, unsigned base, bool upper) {
    const char* digits = upper ? upper_digits : lower_digits;
    do {
      text_[--start_] = digits[v % base];
      v /= base;
    } while (v != 0);
  }
  std::string_view view() const { return {text_ + start_, sizeof text_ - start_}; }

 private:
  char text_[64];
  std::size_t start_ = sizeof text_;
};

struct radix {
  unsigned base;
  bool upper;
  std::string_view prefix;
};

radix radix_of(char type) {
  switch (type) {
    case 'x': return {16, false, "0x"};
    case 'X': return {16, true, "0X"};
    case 'b': return {2, false, "0b"};
    case 'o': return {8, false, "0"};
    default: return {10, false, ""};
  }
}

void write_magnitude(buffer& out, std::uint64_t v, bool negative,
                     const format_spec& spec) {
  if (spec.type == 'c') {
    if (negative || v > 127) fail("integer is not a character");
    format_spec as_char = spec;
    as_char.type = 0;
    return write(out, static_cast<char>(v), as_char);
  }
  const radix r = radix_of(spec.type);
  std::string prefix(sign_text(negative, spec));
  if (spec.alternate && !(r.base == 8 && v == 0)) prefix += r.prefix;
  write_number(out, prefix, digit_buffer(v, r.base, r.upper).view(), spec);
}

/// Appends `c` as it would appear inside a quoted literal.
void append_escaped(std::string& out, char c, char quote) {
  switch (c) {
    case '\n': out += "\\n"; return;
    case '\t': out += "\\t"; return;
    case '\\': out += "\\\\"; return;
    default: break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (c == quote) {
    out += '\\';
    out += c;
  } else if (byte < 0x20 || byte == 0x7f) {
    out += "\\x";
    out += lower_digits[byte >> 4];
    out += lower_digits[byte & 15];
  } else {
    out += c;
  }
}

std::string quoted(std::string_view text, char quote) {
  std::string out(1, quote);
  for (char c : text) append_escaped(out, c, quote);
  return out += quote;
}

}  // namespace

void write_padded(buffer& out, std::string_view body, const format_spec& spec,
                  align fallback) {
  const auto width = static_cast<std::size_t>(spec.width);
  const std::size_t length = body.size();
  const std::size_t padding = width > length ? width - length : 0;
  std::size_t before = 0;
  switch (spec.align == align::none ? fallback : spec.align) {
    case align::right: before = padding; break;
    case align::center: before = padding / 2; break;
    default: break;
  }
  out.fill(before, spec.fill);
  out.append(body);
  out.fill(padding - before, spec.fill);
}

void write_number(buffer& out, std::string_view prefix, std::string_view digits,
                  const format_spec& spec) {
  const std::size_t length = prefix.size() + digits.size();
  const auto width = static_cast<std::size_t>(spec.width);
  std::string body(prefix);
  // An explicit alignment wins over the zero flag.
  if (spec.zero_pad && spec.align == align::none && width > length)
    body.append(width - length, '0');
  body += digits;
  write_padded(out, body, spec, align::right);
}

std::string_view sign_text(bool negative, const format_spec& spec) {
  if (negative) return "-";
  switch (spec.sign) {
    case sign::plus: return "+";
    case sign::space: return " ";
    case sign::minus: break;
  }
  return "";
}

void write(buffer& out, std::int64_t v, const format_spec& spec) {
  const auto bits = static_cast<std::uint64_t>(v);
  write_magnitude(out, v < 0 ? 0 - bits : bits, v < 0, spec);
}

void write(buffer& out, std::uint64_t v, const format_spec& spec) {
  write_magnitude(out, v, false, spec);
}

void write(buffer& out, bool v, const format_spec& spec) {
  if (spec.type == 0 || spec.type == 's')
    return write_padded(out, v ? "true" : "false", spec, align::left);
  write(out, static_cast<std::uint64_t>(v), spec);
}

void write(buffer& out, char v, const format_spec& spec) {
  if (spec.type == 'd') return write(out, static_cast<std::int64_t>(v), spec);
  const std::string_view text(&v, 1);
  if (spec.type == '?')
    write_padded(out, quoted(text, '\''), spec, align::left);
  else
    write_padded(out, text, spec, align::left);
}

void write(buffer& out, std::string_view v, const format_spec& spec) {
  if (spec.precision >= 0) v = v.substr(0, static_cast<std::size_t>(spec.precision));
  if (spec.type == '?')
    write_padded(out, quoted(v, '"'), spec, align::left);
  else
    write_padded(out, v, spec, align::left);
}

void write(buffer& out, const void* v, const format_spec& spec) {
  const digit_buffer digits(reinterpret_cast<std::uintptr_t>(v), 16, false);
  write_number(out, "0x", digits.view(), spec);
}

}  // namespace detail
}  // namespace strf
