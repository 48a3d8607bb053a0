// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace relay {

template <typename Signature>
class MoveFunction;

/// Holds any callable, even one that cannot be copied. Callables up to six
/// pointers in size stay inside the object.
template <typename R, typename... Args>
class MoveFunction<R(Args...)> {
 public:
  MoveFunction() = default;

  template <typename F, typename = std::enable_if_t<
                            !std::is_same_v<std::decay_t<F>, MoveFunction> &&
                            std::is_invocable_r_v<R, std::decay_t<F>&, Args...>>>
  MoveFunction(F&& f) {  // NOLINT(google-explicit-constructor)
    using Fn = std::decay_t<F>;
    if constexpr (fitsInline<Fn>()) {
      ::new (static_cast<void*>(storage_)) Fn(std::forward<F>(f));
      ops_ = &kInlineOps<Fn>;
    } else {
      ::new (static_cast<void*>(storage_)) Fn*(new Fn(std::forward<F>(f)));
      ops_ = &kHeapOps<Fn>;
    }
  }

  MoveFunction(MoveFunction&& other) noexcept { takeFrom(other); }
  MoveFunction& operator=(MoveFunction&& other) noexcept {
    if (this != &other) {
      reset();
      takeFrom(other);
    }
    return *this;
  }
  ~MoveFunction() { reset(); }

  explicit operator bool() const { return ops_ != nullptr; }

  R operator()(Args... args) {
    assert(ops_ != nullptr);
    return ops_->call(storage_, std::forward<Args>(args)...);
  }

 private:
  static constexpr std::size_t kInlineSize = 6 * sizeof(void*);

  struct Ops {
    R (*call)(void*, Args&&...);
    void (*relocate)(void* from, void* to);
    void (*destroy)(void*);
  };

  template <typename Fn>
  static constexpr bool fitsInline() {
    return sizeof(Fn) <= kInlineSize && alignof(Fn) <= alignof(void*) &&
           std::is_nothrow_move_constructible_v<Fn>;
  }

  template <typename Fn>
  static constexpr Ops kInlineOps = {
      [](void* p, Args&&... args) -> R {
        return (*static_cast<Fn*>(p))(std::forward<Args>(args)...);
      },
      [](void* from, void* to) {
        ::new (to) Fn(std::move(*static_cast<Fn*>(from)));
        static_cast<Fn*>(from)->~Fn();
      },
      [](void* p) { static_cast<Fn*>(p)->~Fn(); }};

  template <typename Fn>
  static constexpr Ops kHeapOps = {
      [](void* p, Args&&... args) -> R {
        return (**static_cast<Fn**>(p))(std::forward<Args>(args)...);
      },
      [](void* from, void* to) { ::new (to) Fn*(*static_cast<Fn**>(from)); },
      [](void* p) { delete *static_cast<Fn**>(p); }};

  void takeFrom(MoveFunction& other) {
    ops_ = std::exchange(other.ops_, nullptr);
    if (ops_ != nullptr) ops_->relocate(other.storage_, storage_);
  }

  void reset() {
    if (ops_ != nullptr) std::exchange(ops_, nullptr)->destroy(storage_);
  }

  alignas(void*) unsigned char storage_[kInlineSize];
  const Ops* ops_ = nullptr;
};

using Task = MoveFunction<void()>;

}  // namespace relay
