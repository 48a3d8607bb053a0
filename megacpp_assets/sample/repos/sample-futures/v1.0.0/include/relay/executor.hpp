// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "relay/move_function.hpp"
#include "relay/queues.hpp"

namespace relay {

/// Runs tasks, now or later, on this thread or another.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void add(Task task) = 0;
};

/// Runs each task at once, in the caller's frame.
class InlineExecutor final : public Executor {
 public:
  void add(Task task) override { task(); }
  static InlineExecutor& instance();
};

/// A fixed set of threads behind a bounded queue. A full queue makes the
/// adding thread run a task itself, which keeps producers from running ahead.
class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(unsigned threads, std::size_t queueSize = 1024);
  ~ThreadPool() override { stop(); }

  void add(Task task) override;

  /// Finishes every task added so far, then ends the threads.
  void stop();

  std::size_t tasksRun() const {
    return tasksRun_.load(std::memory_order_relaxed);
  }

 private:
  void workerLoop();
  bool runOne();
  void runTask(Task& task);

  MpmcQueue<Task> queue_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::size_t pending_ = 0;
  bool stopping_ = false;
  std::atomic<std::size_t> tasksRun_{0};
  std::vector<std::thread> threads_;
};

}  // namespace relay
