// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "relay/executor.hpp"

namespace relay {

/// Stands for "no value" where a type is needed.
struct Unit {};

/// A value or the exception that took its place.
template <typename T>
class Try {
 public:
  Try(T value) : value_(std::move(value)) {}  // NOLINT
  Try(std::exception_ptr error) : error_(std::move(error)) {}  // NOLINT

  bool hasValue() const { return value_.has_value(); }
  const std::exception_ptr& error() const { return error_; }

  T& value() {
    if (error_) std::rethrow_exception(error_);
    return *value_;
  }

 private:
  std::optional<T> value_;
  std::exception_ptr error_;
};

class BrokenPromise : public std::logic_error {
 public:
  BrokenPromise() : std::logic_error("promise dropped without a result") {}
};

template <typename T>
class Future;
template <typename T>
class Promise;

namespace detail {

/// What a Promise and its Future share. The second of setResult and
/// setCallback hands the result on.
template <typename T>
class Core {
 public:
  using Callback = MoveFunction<void(Try<T>&&)>;

  void setResult(Try<T>&& result) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (result_) throw std::logic_error("promise already has a result");
    result_.emplace(std::move(result));
    deliver(lock);
  }

  void setCallback(Executor* executor, Callback callback) {
    std::unique_lock<std::mutex> lock(mutex_);
    executor_ = executor;
    callback_ = std::move(callback);
    deliver(lock);
  }

  bool ready() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return result_.has_value();
  }

 private:
  void deliver(std::unique_lock<std::mutex>& lock) {
    if (!result_ || !callback_) return;
    Task task = [callback = std::move(callback_),
                 result = std::move(*result_)]() mutable {
      callback(std::move(result));
    };
    Executor* executor = executor_;
    lock.unlock();
    executor->add(std::move(task));
  }

  mutable std::mutex mutex_;
  std::optional<Try<T>> result_;
  Executor* executor_ = nullptr;
  Callback callback_;
};

template <typename T>
struct IsFuture : std::false_type {};
template <typename T>
struct IsFuture<Future<T>> : std::true_type {
  using Inner = T;
};

/// The type a continuation leads to: void becomes Unit, futures are unwrapped.
template <typename R>
struct Flatten {
  using type = std::conditional_t<std::is_void_v<R>, Unit, R>;
};
template <typename T>
struct Flatten<Future<T>> {
  using type = T;
};

/// Calls `f`, turning its result or exception into a Try.
template <typename R, typename F, typename... Args>
Try<R> invokeToTry(F& f, Args&&... args) {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, Args...>>) {
      f(std::forward<Args>(args)...);
      return Try<R>(R{});
    } else {
      return Try<R>(f(std::forward<Args>(args)...));
    }
  } catch (...) {
    return Try<R>(std::current_exception());
  }
}

}  // namespace detail

/// The writing end. Dropping it without a result breaks the future.
template <typename T>
class Promise {
 public:
  Promise() : core_(std::make_shared<detail::Core<T>>()) {}
  Promise(Promise&&) noexcept = default;
  Promise& operator=(Promise&&) = delete;
  ~Promise() {
    if (core_) setTry(std::make_exception_ptr(BrokenPromise()));
  }

  Future<T> getFuture() const { return Future<T>(core_); }

  void setValue(T value) { setTry(Try<T>(std::move(value))); }
  void setTry(Try<T> result) {
    std::exchange(core_, nullptr)->setResult(std::move(result));
  }

 private:
  std::shared_ptr<detail::Core<T>> core_;
};

/// The reading end. Continuations run on the executor given to via(), or
/// inline where the result is set.
template <typename T>
class Future {
 public:
  bool isReady() const { return core_->ready(); }

  Future via(Executor* executor) && {
    executor_ = executor;
    return std::move(*this);
  }

  /// Passes the value to `f`; an exception skips it. When `f` itself gives a
  /// future, the result is that future's result.
  template <typename F>
  auto then(F&& f) && {
    using R = typename detail::Flatten<std::invoke_result_t<F&, T>>::type;
    return std::move(*this).template chain<R>(
        [f = std::forward<F>(f)](Try<T>&& input, Promise<R> promise) mutable {
          if (!input.hasValue()) return promise.setTry(input.error());
          fulfil(f, std::move(promise), std::move(input.value()));
        });
  }

  /// Gives `f` the exception, if there is one, to make a value of.
  template <typename F>
  Future<T> onError(F&& f) && {
    return std::move(*this).template chain<T>(
        [f = std::forward<F>(f)](Try<T>&& input, Promise<T> promise) mutable {
          if (input.hasValue()) return promise.setTry(std::move(input));
          fulfil(f, std::move(promise), input.error());
        });
  }

  /// Runs `f` whatever the outcome, then passes that on. If `f` throws, its
  /// exception takes the place of the outcome.
  template <typename F>
  Future<T> ensure(F&& f) && {
    return std::move(*this).template chain<T>(
        [f = std::forward<F>(f)](Try<T>&& input, Promise<T> promise) mutable {
          Try<Unit> ran = detail::invokeToTry<Unit>(f);
          if (!ran.hasValue()) return promise.setTry(ran.error());
          promise.setTry(std::move(input));
        });
  }

  /// Calls `f` with the outcome and ends the chain.
  template <typename F>
  void finally(F&& f) && {
    core_->setCallback(executor_, std::forward<F>(f));
  }

  /// Blocks until the result is there. Not for use on an executor's thread.
  T get() && {
    std::mutex mutex;
    std::condition_variable done;
    std::optional<Try<T>> result;
    core_->setCallback(&InlineExecutor::instance(), [&](Try<T>&& outcome) {
      std::lock_guard<std::mutex> lock(mutex);
      result.emplace(std::move(outcome));
      done.notify_one();
    });
    std::unique_lock<std::mutex> lock(mutex);
    done.wait(lock, [&] { return result.has_value(); });
    return std::move(result->value());
  }

 private:
  friend class Promise<T>;
  template <typename U>
  friend class Future;

  explicit Future(std::shared_ptr<detail::Core<T>> core)
      : core_(std::move(core)) {}

  template <typename R, typename Step>
  Future<R> chain(Step&& step) && {
    Promise<R> promise;
    Future<R> next = promise.getFuture();
    next.executor_ = executor_;
    core_->setCallback(executor_, [step = std::forward<Step>(step),
                                   promise = std::move(promise)](
                                      Try<T>&& input) mutable {
      step(std::move(input), std::move(promise));
    });
    return next;
  }

  template <typename F, typename R, typename Arg>
  static void fulfil(F& f, Promise<R> promise, Arg&& arg) {
    using Result = std::invoke_result_t<F&, Arg>;
    if constexpr (detail::IsFuture<Result>::value) {
      auto inner = detail::invokeToTry<Result>(f, std::forward<Arg>(arg));
      if (!inner.hasValue()) return promise.setTry(inner.error());
      std::move(inner.value())
          .finally([promise = std::move(promise)](Try<R>&& result) mutable {
            promise.setTry(std::move(result));
          });
    } else {
      promise.setTry(detail::invokeToTry<R>(f, std::forward<Arg>(arg)));
    }
  }

  std::shared_ptr<detail::Core<T>> core_;
  Executor* executor_ = &InlineExecutor::instance();
};

template <typename T>
Future<T> makeFuture(T value) {
  Promise<T> promise;
  Future<T> future = promise.getFuture();
  promise.setValue(std::move(value));
  return future;
}

/// Runs `f` on the executor and gives its result as a future.
template <typename F>
auto async(Executor* executor, F&& f) {
  return makeFuture(Unit{}).via(executor).then(
      [f = std::forward<F>(f)](Unit) mutable { return f(); });
}

/// Every result in order, or the first exception in order of arrival.
template <typename T>
Future<std::vector<T>> collectAll(std::vector<Future<T>> futures) {
  struct Join {
    explicit Join(std::size_t n) : results(n), missing(n) {}
    std::mutex mutex;
    std::vector<std::optional<T>> results;
    std::size_t missing;
    std::optional<Promise<std::vector<T>>> promise{std::in_place};

    void arrive(std::size_t index, Try<T>&& result) {
      std::unique_lock<std::mutex> lock(mutex);
      if (!promise) return;
      if (!result.hasValue()) return finish(lock, result.error());
      results[index].emplace(std::move(result.value()));
      if (--missing > 0) return;
      std::vector<T> values;
      for (auto& value : results) values.push_back(std::move(*value));
      finish(lock, std::move(values));
    }
    void finish(std::unique_lock<std::mutex>& lock, Try<std::vector<T>> all) {
      Promise<std::vector<T>> last = std::move(*promise);
      promise.reset();
      lock.unlock();
      last.setTry(std::move(all));
    }
  };

  if (futures.empty()) return makeFuture(std::vector<T>());
  auto join = std::make_shared<Join>(futures.size());
  Future<std::vector<T>> all = join->promise->getFuture();
  for (std::size_t i = 0; i < futures.size(); ++i) {
    std::move(futures[i]).finally([join, i](Try<T>&& result) {
      join->arrive(i, std::move(result));
    });
  }
  return all;
}

/// The first value to arrive. Exceptions count only once all have failed.
template <typename T>
Future<T> collectAny(std::vector<Future<T>> futures) {
  struct Race {
    explicit Race(std::size_t n) : running(n) {}
    std::mutex mutex;
    std::size_t running;
    std::optional<Promise<T>> promise{std::in_place};

    void arrive(Try<T>&& result) {
      std::unique_lock<std::mutex> lock(mutex);
      --running;
      if (!promise || (!result.hasValue() && running > 0)) return;
      Promise<T> winner = std::move(*promise);
      promise.reset();
      lock.unlock();
      winner.setTry(std::move(result));
    }
  };

  auto race = std::make_shared<Race>(futures.size());
  Future<T> first = race->promise->getFuture();
  for (Future<T>& future : futures) {
    std::move(future).finally(
        [race](Try<T>&& result) { race->arrive(std::move(result)); });
  }
  return first;
}

}  // namespace relay
