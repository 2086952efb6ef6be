#include "thread_pool.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace gym {

namespace {

std::atomic<ThreadPool*> pool{nullptr};

void renew() { pool = new ThreadPool; }

// While one lives, threads that are started have all signals blocked: those are for the others.
class Unsignalled {
 public:
  Unsignalled() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~Unsignalled() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Unsignalled(const Unsignalled&) = delete;
  Unsignalled& operator=(const Unsignalled&) = delete;

 private:
  sigset_t before_;
};

// The processors that this thread may run on, without the one it is on if there are others. Left to
// itself the system may keep a thread beside the one that wakes it for longer than a batch takes.
class Elsewhere {
#ifdef __linux__
 public:
  Elsewhere() {
    if (sched_getaffinity(0, sizeof(processors_), &processors_) != 0) return;
    const int here = sched_getcpu();
    if (here >= 0 && CPU_COUNT(&processors_) > 1)
      CPU_CLR(static_cast<unsigned>(here), &processors_);
  }
  void send(std::thread& thread) const {
    pthread_setaffinity_np(thread.native_handle(), sizeof(processors_), &processors_);
  }

 private:
  cpu_set_t processors_{};
#else
 public:
  void send(std::thread&) const {}
#endif
};

}  // namespace

struct ThreadPool::Job {
  const std::function<void(int)>& work;
  int running = 0;
  std::condition_variable ended{};
};

struct ThreadPool::Member {
  explicit Member(ThreadPool& pool) : thread([this, &pool] { pool.serve(*this); }) {}

  std::condition_variable called{};
  Job* job = nullptr;  // to begin with, as ...
  int index = 0;       // ... this call
  std::thread thread;
};

ThreadPool& ThreadPool::shared() {
  [[maybe_unused]] static const int registered = [] {
    renew();
    return pthread_atfork(nullptr, nullptr, renew);
  }();
  return *pool;
}

ThreadPool::ThreadPool() = default;

void ThreadPool::run(int threads, const std::function<void(int)>& work) {
  if (threads <= 1) return work(0);
  const Elsewhere elsewhere;
  Job job{work};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (int index = 1; index < threads; ++index) {
      Member* member = idle_or_new();
      if (member == nullptr) break;
      elsewhere.send(member->thread);
      member->index = index;
      member->job = &job;
      member->called.notify_one();
    }
  }
  work(0);
  std::unique_lock<std::mutex> lock(mutex_);
  for (Member& member : members_) {
    if (member.job != &job) continue;
    member.job = nullptr;
    idle_.push_back(&member);
  }
  job.ended.wait(lock, [&job] { return job.running == 0; });
}

// Null if the machine has no room for another: those there are do all the work.
ThreadPool::Member* ThreadPool::idle_or_new() {
  if (!idle_.empty()) {
    Member* member = idle_.back();
    idle_.pop_back();
    return member;
  }
  try {
    const Unsignalled unsignalled;
    idle_.reserve(members_.size() + 1);
    return &members_.emplace_back(*this);
  } catch (const std::exception&) {
    return nullptr;
  }
}

void ThreadPool::serve(Member& member) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    member.called.wait(lock, [&member] { return member.job != nullptr; });
    Job& job = *member.job;
    member.job = nullptr;
    ++job.running;
    lock.unlock();
    job.work(member.index);
    lock.lock();
    idle_.push_back(&member);
    if (--job.running == 0) job.ended.notify_one();
  }
}

}  // namespace gym
