// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef VERITY_MATCHERS_H_
#define VERITY_MATCHERS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "verity/assertion.h"

namespace verity {

/// A predicate on values of type T that can say what it looks for. Made from
/// a value (equality) or from one of the untyped matchers below.
template <typename T>
class Matcher {
 public:
  template <typename M>
  Matcher(M&& source);  // NOLINT(google-explicit-constructor)
  Matcher(const Matcher&) = default;
  Matcher(Matcher& other) : impl_(other.impl_) {}
  Matcher(Matcher&&) noexcept = default;

  bool Matches(const T& value) const { return impl_->Matches(value); }
  std::string Describe() const { return impl_->Describe(); }

 private:
  struct Interface {
    virtual ~Interface() = default;
    virtual bool Matches(const T& value) const = 0;
    virtual std::string Describe() const = 0;
  };

  template <typename M>
  struct Holder : Interface {
    explicit Holder(M m) : matcher(std::move(m)) {}
    bool Matches(const T& value) const override {
      return matcher.Matches(value);
    }
    std::string Describe() const override { return matcher.Describe(); }
    M matcher;
  };

  std::shared_ptr<const Interface> impl_;
};

namespace internal {

template <typename M, typename = void>
struct IsMatcher : std::false_type {};

template <typename M>
struct IsMatcher<M, std::void_t<decltype(std::declval<const M&>().Describe())>>
    : std::true_type {};

#define VERITY_DEFINE_ORDER_MATCHER_(Class, op, verb)                   \
  template <typename V>                                                 \
  struct Class {                                                        \
    V operand;                                                          \
    template <typename T>                                               \
    bool Matches(const T& value) const {                                \
      return value op operand;                                          \
    }                                                                   \
    std::string Describe() const { return verb " " + Print(operand); }  \
  };

VERITY_DEFINE_ORDER_MATCHER_(EqMatcher, ==, "is equal to")
VERITY_DEFINE_ORDER_MATCHER_(LtMatcher, <, "is less than")
VERITY_DEFINE_ORDER_MATCHER_(GtMatcher, >, "is greater than")
#undef VERITY_DEFINE_ORDER_MATCHER_

/// A bare value stands for equality with it.
template <typename M>
auto ToMatcher(M source) {
  if constexpr (IsMatcher<M>::value) {
    return source;
  } else if constexpr (std::is_convertible_v<M, const char*>) {
    return EqMatcher<std::string>{source};
  } else {
    return EqMatcher<M>{std::move(source)};
  }
}

template <typename M>
using MatcherFor = decltype(ToMatcher(std::declval<std::decay_t<M>>()));

struct AnyMatcher {
  template <typename T>
  bool Matches(const T&) const {
    return true;
  }
  std::string Describe() const { return "is anything"; }
};

template <typename M>
struct NotMatcher {
  M inner;
  template <typename T>
  bool Matches(const T& value) const {
    return !inner.Matches(value);
  }
  std::string Describe() const { return "not (" + inner.Describe() + ")"; }
};

enum class Junction { kAll, kAny };

template <Junction kind, typename... Ms>
struct JunctionMatcher {
  std::tuple<Ms...> parts;

  template <typename T>
  bool Matches(const T& value) const {
    return std::apply(
        [&value](const Ms&... part) {
          if constexpr (kind == Junction::kAll) {
            return (part.Matches(value) && ...);
          } else {
            return (part.Matches(value) || ...);
          }
        },
        parts);
  }

  std::string Describe() const {
    const char* glue = kind == Junction::kAll ? " and " : " or ";
    std::string out;
    std::apply(
        [&](const Ms&... part) {
          ((out += (out.empty() ? "" : glue) + part.Describe()), ...);
        },
        parts);
    return out;
  }
};

template <typename M>
struct ContainsMatcher {
  M element;
  template <typename C>
  bool Matches(const C& container) const {
    for (const auto& candidate : container) {
      if (element.Matches(candidate)) return true;
    }
    return false;
  }
  std::string Describe() const {
    return "contains an element that " + element.Describe();
  }
};

template <typename... Ms>
struct ElementsAreMatcher {
  std::tuple<Ms...> parts;

  template <typename C>
  bool Matches(const C& container) const {
    auto it = container.begin();
    const auto end = container.end();
    const bool all = std::apply(
        [&](const Ms&... part) {
          return ((it != end && part.Matches(*it++)) && ...);
        },
        parts);
    return all && it == end;
  }

  std::string Describe() const {
    std::string out = "has " + std::to_string(sizeof...(Ms)) + " elements:";
    std::apply(
        [&out](const Ms&... part) {
          ((out += " [" + part.Describe() + "]"), ...);
        },
        parts);
    return out;
  }
};

struct HasSubstrMatcher {
  std::string needle;
  bool Matches(const std::string& text) const {
    return text.find(needle) != std::string::npos;
  }
  std::string Describe() const { return "has substring " + Quote(needle); }
};

template <typename T, typename M>
AssertionResult CheckThat(const char* expr, const T& value, const M& source) {
  const Matcher<T> matcher(source);
  if (matcher.Matches(value)) return AssertionResult::Success();
  return AssertionResult::Fail(std::string("value of: ") + expr +
                               "\nexpected: " + matcher.Describe() +
                               "\n  actual: " + Print(value));
}

}  // namespace internal

template <typename T>
template <typename M>
Matcher<T>::Matcher(M&& source) {
  using Concrete = internal::MatcherFor<M>;
  impl_ = std::make_shared<Holder<Concrete>>(
      internal::ToMatcher<std::decay_t<M>>(std::forward<M>(source)));
}

inline const internal::AnyMatcher _{};

template <typename V>
internal::EqMatcher<V> Eq(V value) {
  return {std::move(value)};
}
template <typename V>
internal::LtMatcher<V> Lt(V value) {
  return {std::move(value)};
}
template <typename V>
internal::GtMatcher<V> Gt(V value) {
  return {std::move(value)};
}
template <typename M>
internal::NotMatcher<internal::MatcherFor<M>> Not(M inner) {
  return {internal::ToMatcher(std::move(inner))};
}
template <typename... Ms>
internal::JunctionMatcher<internal::Junction::kAll, internal::MatcherFor<Ms>...>
AllOf(Ms... parts) {
  return {std::make_tuple(internal::ToMatcher(std::move(parts))...)};
}
template <typename... Ms>
internal::JunctionMatcher<internal::Junction::kAny, internal::MatcherFor<Ms>...>
AnyOf(Ms... parts) {
  return {std::make_tuple(internal::ToMatcher(std::move(parts))...)};
}
template <typename M>
internal::ContainsMatcher<internal::MatcherFor<M>> Contains(M element) {
  return {internal::ToMatcher(std::move(element))};
}
template <typename... Ms>
internal::ElementsAreMatcher<internal::MatcherFor<Ms>...> ElementsAre(
    Ms... parts) {
  return {std::make_tuple(internal::ToMatcher(std::move(parts))...)};
}
inline internal::HasSubstrMatcher HasSubstr(std::string needle) {
  return {std::move(needle)};
}

}  // namespace verity

#define EXPECT_THAT(value, matcher) \
  VERITY_EXPECT_(::verity::internal::CheckThat(#value, value, matcher))
#define ASSERT_THAT(value, matcher) \
  VERITY_ASSERT_(::verity::internal::CheckThat(#value, value, matcher))

#endif  // VERITY_MATCHERS_H_
