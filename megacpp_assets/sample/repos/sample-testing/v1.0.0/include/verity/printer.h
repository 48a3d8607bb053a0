// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef VERITY_PRINTER_H_
#define VERITY_PRINTER_H_

#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>

namespace verity {
namespace internal {

template <typename T, typename = void>
struct IsRange : std::false_type {};

template <typename T>
struct IsRange<T, std::void_t<decltype(std::declval<const T&>().begin()),
                              decltype(std::declval<const T&>().end())>>
    : std::true_type {};

template <typename T, typename = void>
struct HasToString : std::false_type {};

template <typename T>
struct HasToString<
    T, std::enable_if_t<std::is_convertible_v<
           decltype(std::declval<const T&>().ToString()), std::string>>>
    : std::true_type {};

template <typename T>
struct IsPair : std::false_type {};

template <typename A, typename B>
struct IsPair<std::pair<A, B>> : std::true_type {};

/// Wraps `text` in double quotes, escaping what would not print on one line.
std::string Quote(const std::string& text);

/// Formats a floating-point number so that distinct values look distinct.
std::string FormatDouble(double value);

template <typename T>
std::string PrintRange(const T& range);

}  // namespace internal

/// Renders `value` for a failure message. Types may take part by offering a
/// `ToString()` member; anything unknown is shown as an opaque object.
template <typename T>
std::string Print(const T& value) {
  using D = std::decay_t<T>;
  if constexpr (std::is_same_v<D, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<D, char>) {
    return std::string("'") + value + "'";
  } else if constexpr (std::is_floating_point_v<D>) {
    return internal::FormatDouble(static_cast<double>(value));
  } else if constexpr (std::is_integral_v<D>) {
    return std::to_string(value);
  } else if constexpr (std::is_enum_v<D>) {
    return std::to_string(static_cast<std::underlying_type_t<D>>(value));
  } else if constexpr (std::is_same_v<D, std::nullptr_t>) {
    return "nullptr";
  } else if constexpr (std::is_convertible_v<const T&, std::string>) {
    return internal::Quote(value);
  } else if constexpr (internal::HasToString<D>::value) {
    return value.ToString();
  } else if constexpr (internal::IsPair<D>::value) {
    return "(" + Print(value.first) + ", " + Print(value.second) + ")";
  } else if constexpr (internal::IsRange<D>::value) {
    return internal::PrintRange(value);
  } else if constexpr (std::is_pointer_v<D>) {
    char buffer[32];
    std::snprintf(buffer, sizeof(buffer), "%p",
                  static_cast<const void*>(value));
    return buffer;
  } else {
    return "<" + std::to_string(sizeof(T)) + "-byte object>";
  }
}

namespace internal {

template <typename T>
std::string PrintRange(const T& range) {
  constexpr int kMaxShown = 16;
  std::string out = "{";
  int shown = 0;
  for (const auto& element : range) {
    if (shown > 0) out += ", ";
    if (shown++ == kMaxShown) {
      out += "...";
      break;
    }
    out += Print(element);
  }
  return out + "}";
}

}  // namespace internal

/// Text streamed after an assertion. Strings go in as they are; every other
/// value is rendered by Print().
class Message {
 public:
  template <typename T>
  Message& operator<<(const T& value) {
    if constexpr (std::is_convertible_v<const T&, std::string>) {
      text_ += std::string(value);
    } else {
      text_ += Print(value);
    }
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace verity

#endif  // VERITY_PRINTER_H_
