// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef COURIER_SERVER_H_
#define COURIER_SERVER_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "courier/completion_queue.h"
#include "courier/interceptor.h"
#include "courier/transport.h"

namespace courier {

/// What a handler can learn about the call it serves.
class ServerContext {
 public:
  ServerContext(CallInfo info, Deadline deadline)
      : info_(std::move(info)), deadline_(deadline) {}

  const Metadata& metadata() const { return info_.metadata; }
  Deadline deadline() const { return deadline_; }
  /// True once nobody waits for the reply any more.
  bool IsCancelled() const {
    return cancelled_.load(std::memory_order_relaxed) ||
           Clock::now() >= deadline_;
  }

 private:
  friend class ServerCall;
  CallInfo info_;
  Deadline deadline_;
  std::atomic<bool> cancelled_{false};
};

/// Serves one method, from request bytes to reply bytes.
using MethodHandler = std::function<Status(
    ServerContext* context, const std::string& request, std::string* reply)>;

/// Methods by full name, "/package.Service/Method".
class MethodRegistry {
 public:
  void Add(const std::string& name, MethodHandler handler) {
    handlers_[name] = std::move(handler);
  }

  /// Adds a member function that takes and fills typed messages.
  template <typename Service, typename Request, typename Reply>
  void AddUnary(const std::string& name, Service* service,
                Status (Service::*method)(ServerContext*, const Request&,
                                          Reply*)) {
    Add(name, [service, method](ServerContext* context,
                                const std::string& bytes, std::string* out) {
      Request request;
      if (!request.Parse(bytes)) {
        return Status(Code::kInvalidArgument, "malformed request");
      }
      Reply reply;
      const Status status = (service->*method)(context, request, &reply);
      if (status.ok()) *out = reply.Serialize();
      return status;
    });
  }

  const MethodHandler* Find(const std::string& name) const {
    const auto it = handlers_.find(name);
    return it == handlers_.end() ? nullptr : &it->second;
  }

 private:
  std::map<std::string, MethodHandler> handlers_;
};

class Server;

/// The server's side of one call. Moves one state further each time it comes
/// out of the server's queue.
class ServerCall : public Completion,
                   public std::enable_shared_from_this<ServerCall> {
 public:
  ServerCall(Server* server, std::size_t connection, Frame request);

  void Proceed();
  void MarkCancelled() {
    context_.cancelled_.store(true, std::memory_order_relaxed);
  }

  bool Finalize(void** tag, bool* ok) override;

 private:
  friend class Server;
  enum class State { kReceived, kAdmitted, kFinished };

  Status Admit();
  Status Execute();
  void Finish(const Status& status);

  Server* server_;
  const std::size_t connection_;
  Frame request_;
  ServerContext context_;
  State state_ = State::kReceived;
  bool over_limit_ = false;
  std::size_t entered_ = 0;
  const MethodHandler* handler_ = nullptr;
  std::string reply_;
};

struct ServerOptions {
  unsigned threads = 2;
  /// Calls beyond this many are turned away; zero for no limit.
  std::size_t max_active_calls = 0;
};

/// Serves the methods of its registry over any number of connections.
class Server {
 public:
  explicit Server(ServerOptions options = {}) : options_(options) {}
  ~Server() { Shutdown(); }

  // To be called before Start.
  MethodRegistry* registry() { return &registry_; }
  void AddInterceptor(std::shared_ptr<Interceptor> interceptor) {
    interceptors_.Add(std::move(interceptor));
  }

  void Start();
  void Connect(std::unique_ptr<Endpoint> endpoint);

  /// Calls received and not yet answered.
  std::size_t active_calls();

  /// Takes no more requests, answers those at hand, ends the threads.
  void Shutdown();

 private:
  friend class ServerCall;
  using CallKey = std::pair<std::size_t, std::uint64_t>;

  void OnBytes(std::size_t connection, const std::string& bytes);
  void Accept(const CallKey& key, Frame request);
  void Poll();
  void Reply(std::size_t connection, const Frame& frame);
  void Forget(const CallKey& key);

  const ServerOptions options_;
  MethodRegistry registry_;
  InterceptorChain interceptors_;
  CompletionQueue queue_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::vector<std::shared_ptr<Endpoint>> connections_;
  std::map<CallKey, std::shared_ptr<ServerCall>> active_;
};

}  // namespace courier

#endif  // COURIER_SERVER_H_
