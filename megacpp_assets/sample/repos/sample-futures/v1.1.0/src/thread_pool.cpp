// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "relay/executor.hpp"

namespace relay {

InlineExecutor& InlineExecutor::instance() {
  static InlineExecutor executor;
  return executor;
}

ThreadPool::ThreadPool(unsigned threads, std::size_t queueSize)
    : queue_(queueSize) {
  threads_.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { workerLoop(); });
  }
}

void ThreadPool::add(Task task) {
  if (!enqueue(task)) {
    runTask(task);
    return;
  }
  wake_.notify_one();
}

bool ThreadPool::enqueue(Task& task) {
  // Under the lock, so that no task slips in once the workers may have left.
  std::lock_guard<std::mutex> lock(mutex_);
  if (stopping_ || !queue_.tryPush(std::move(task))) return false;
  ++pending_;
  return true;
}

void ThreadPool::runTask(Task& task) {
  task();
  tasksRun_.fetch_add(1, std::memory_order_relaxed);
}

bool ThreadPool::runOne() {
  Task task;
  if (!queue_.tryPop(&task)) return false;
  runTask(task);
  return true;
}

void ThreadPool::workerLoop() {
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [this] { return pending_ > 0 || stopping_; });
      if (pending_ == 0) return;
      --pending_;
    }
    /* A consumer that claimed an earlier cell may still be emptying it, so
       the entry that belongs to this thread can take a moment to show. */
    while (!runOne()) std::this_thread::yield();
  }
}

void ThreadPool::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace relay
