// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef GRANARY_MUTEX_H_
#define GRANARY_MUTEX_H_

#include <atomic>
#include <mutex>
#include <utility>

// Lets a compiler that knows thread-safety analysis check the locking.
#if defined(__clang__) && defined(GRANARY_THREAD_ANALYSIS)
#define GRANARY_ATTR_(x) __attribute__((x))
#else
#define GRANARY_ATTR_(x)
#endif
#define GRANARY_CAPABILITY GRANARY_ATTR_(capability("mutex"))
#define GRANARY_SCOPED GRANARY_ATTR_(scoped_lockable)
#define GRANARY_GUARDED_BY(mu) GRANARY_ATTR_(guarded_by(mu))
#define GRANARY_ACQUIRE(...) GRANARY_ATTR_(acquire_capability(__VA_ARGS__))
#define GRANARY_RELEASE(...) GRANARY_ATTR_(release_capability(__VA_ARGS__))

namespace granary {

class GRANARY_CAPABILITY Mutex {
 public:
  void Lock() GRANARY_ACQUIRE() { mu_.lock(); }
  void Unlock() GRANARY_RELEASE() { mu_.unlock(); }

 private:
  std::mutex mu_;
};

/// Holds a Mutex for the length of a scope.
class GRANARY_SCOPED MutexLock {
 public:
  explicit MutexLock(Mutex* mu) GRANARY_ACQUIRE(mu) : mu_(mu) { mu_->Lock(); }
  ~MutexLock() GRANARY_RELEASE() { mu_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mu_;
};

/// A value that can only be reached with its lock held.
template <typename T>
class Guarded {
 public:
  template <typename F>
  auto With(F&& f) {
    MutexLock lock(&mu_);
    return std::forward<F>(f)(value_);
  }

 private:
  Mutex mu_;
  T value_ GRANARY_GUARDED_BY(mu_){};
};

/// Remembers that a function has run. Callers that lose the race wait.
class OnceFlag {
 public:
  template <typename F>
  void Call(F&& f) {
    if (done_.load(std::memory_order_acquire)) return;
    MutexLock lock(&mu_);
    if (done_.load(std::memory_order_relaxed)) return;
    std::forward<F>(f)();
    done_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> done_{false};
  Mutex mu_;
};

}  // namespace granary

#endif  // GRANARY_MUTEX_H_
