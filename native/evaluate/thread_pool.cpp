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

// While one lives, threads that are started have signals blocked, which are for the others; not
// those that tell of an error of the thread itself, nor what a profiler sends.
class Unsignalled {
 public:
  Unsignalled() {
    sigset_t others;
    sigfillset(&others);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) {
      sigdelset(&others, own);
    }
    pthread_sigmask(SIG_SETMASK, &others, &before_);
  }
  ~Unsignalled() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Unsignalled(const Unsignalled&) = delete;
  Unsignalled& operator=(const Unsignalled&) = delete;

 private:
  sigset_t before_;
};

// The processors that this thread may run on, without the one it is on if there are enough of them
// for so many threads. Left to itself the system may keep a thread beside the one that wakes it for
// longer than a batch takes.
class Elsewhere {
#ifdef __linux__
 public:
  explicit Elsewhere(int threads) {
    if (sched_getaffinity(0, sizeof(processors_), &processors_) != 0) return;
    const int here = sched_getcpu();
    if (here >= 0 && threads <= CPU_COUNT(&processors_))
      CPU_CLR(static_cast<unsigned>(here), &processors_);
  }
  void send(std::thread& thread) const {
    pthread_setaffinity_np(thread.native_handle(), sizeof(processors_), &processors_);
  }

 private:
  cpu_set_t processors_{};
#else
 public:
  explicit Elsewhere(int) {}
  void send(std::thread&) const {}
#endif
};

}  // namespace

struct ThreadPool::Job {
  void call(int index) noexcept {
    try {
      work(index);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(error_mutex);
      error = std::current_exception();
    }
  }

  const std::function<void(int)>& work;
  std::mutex error_mutex{};
  std::exception_ptr error{};
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
  const Elsewhere elsewhere(threads);
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
  job.call(0);
  std::unique_lock<std::mutex> lock(mutex_);
  for (Member& member : members_) {
    if (member.job != &job) continue;
    member.job = nullptr;
    idle_.push_back(&member);
  }
  job.ended.wait(lock, [&job] { return job.running == 0; });
  if (job.error) std::rethrow_exception(job.error);
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
    job.call(member.index);
    lock.lock();
    idle_.push_back(&member);
    if (--job.running == 0) job.ended.notify_one();
  }
}

}  // namespace gym
