// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "courier/server.h"

namespace courier {
namespace {

Deadline DeadlineOf(const Frame& request) {
  if (request.timeout_us == 0) return NoDeadline();
  return Clock::now() + std::chrono::microseconds(request.timeout_us);
}

}  // namespace

ServerCall::ServerCall(Server* server, std::size_t connection, Frame request)
    : server_(server),
      connection_(connection),
      request_(std::move(request)),
      context_(CallInfo{request_.method, std::move(request_.metadata)},
               DeadlineOf(request_)) {}

bool ServerCall::Finalize(void** tag, bool* /*ok*/) {
  *tag = this;
  return true;
}

void ServerCall::Proceed() {
  switch (state_) {
    case State::kReceived: {
      const Status admitted = Admit();
      if (!admitted.ok()) return Finish(admitted);
      state_ = State::kAdmitted;
      // To the back of the queue: rejecting stays quick under load.
      server_->queue_.Post(shared_from_this(), true);
      return;
    }
    case State::kAdmitted:
      return Finish(Execute());
    case State::kFinished:
      return;
  }
}

Status ServerCall::Admit() {
  handler_ = server_->registry_.Find(request_.method);
  if (handler_ == nullptr) {
    return Status(Code::kUnimplemented, "no method " + request_.method);
  }
  return server_->interceptors_.Start(&context_.info_, &entered_);
}

Status ServerCall::Execute() {
  if (context_.IsCancelled()) {
    return Status(Code::kCancelled, "given up before it was served");
  }
  const Status status = (*handler_)(&context_, request_.payload, &reply_);
  if (Clock::now() >= context_.deadline()) {
    return Status(Code::kDeadlineExceeded, "served too late");
  }
  return status;
}

void ServerCall::Finish(const Status& status) {
  state_ = State::kFinished;
  server_->interceptors_.Finish(context_.info_, status, entered_);
  Frame frame;
  frame.kind = Frame::Kind::kReply;
  frame.call_id = request_.call_id;
  frame.status = status;
  if (status.ok()) frame.payload = std::move(reply_);
  server_->Reply(connection_, frame);
  // Last of all, since it may drop the last reference to this call.
  server_->Forget({connection_, request_.call_id});
}

void Server::Start() {
  for (unsigned i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this] { Poll(); });
  }
}

void Server::Connect(std::unique_ptr<Endpoint> endpoint) {
  std::shared_ptr<Endpoint> shared = std::move(endpoint);
  std::size_t connection = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    connection = connections_.size();
    connections_.push_back(shared);
  }
  shared->Receive([this, connection](const std::string& bytes) {
    OnBytes(connection, bytes);
  });
}

void Server::OnBytes(std::size_t connection, const std::string& bytes) {
  Frame frame;
  if (!frame.Parse(bytes)) return;
  const CallKey key(connection, frame.call_id);
  std::lock_guard<std::mutex> lock(mutex_);
  if (frame.kind == Frame::Kind::kCancel) {
    const auto it = active_.find(key);
    if (it != active_.end()) it->second->MarkCancelled();
  } else if (frame.kind == Frame::Kind::kRequest) {
    auto call = std::make_shared<ServerCall>(this, connection, std::move(frame));
    if (active_.emplace(key, call).second) queue_.Post(std::move(call), true);
  }
}

void Server::Poll() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) static_cast<ServerCall*>(tag)->Proceed();
}

void Server::Reply(std::size_t connection, const Frame& frame) {
  std::shared_ptr<Endpoint> endpoint;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    endpoint = connections_[connection];
  }
  endpoint->Send(frame.Serialize());
}

void Server::Forget(const CallKey& key) {
  std::shared_ptr<ServerCall> dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto it = active_.find(key);
  if (it == active_.end()) return;
  dropped = std::move(it->second);
  active_.erase(it);
  if (active_.empty()) idle_.notify_all();
}

void Server::Shutdown() {
  std::vector<std::shared_ptr<Endpoint>> connections;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    connections = connections_;
  }
  for (const auto& endpoint : connections) endpoint->Close();
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!threads_.empty()) {
      idle_.wait(lock, [this] { return active_.empty(); });
    }
  }
  queue_.Shutdown();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace courier
