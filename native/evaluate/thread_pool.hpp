// Threads that stay: starting one for every batch takes as long as hundreds of mappings.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <vector>

namespace gym {

class ThreadPool {
 public:
  // The pool of this process. A forked process has one of its own: threads do not come along.
  static ThreadPool& shared();

  ThreadPool();
  ~ThreadPool() = delete;  // its threads wait for work until the process ends

  // Calls work(0) here and work(1) to work(threads - 1) on other threads, and returns when all that
  // have begun have ended. Those that have not when work(0) ends are left out, so the calls must
  // share what there is to do, as by a counter. Throws what one of them threw.
  void run(int threads, const std::function<void(int)>& work);

 private:
  struct Job;
  struct Member;

  Member* idle_or_new();
  void serve(Member& member);

  std::mutex mutex_;
  std::list<Member> members_;
  std::vector<Member*> idle_;
};

}  // namespace gym
