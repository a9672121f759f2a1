"""One class per role of a replica, each holding only what that role needs.

    from         event                                            to
    ----------   ----------------------------------------------   -------------------------------------------
    any          a message with a higher epoch                    Unattached, or Follower if it names the leader
    Unattached   election timeout (voters only)                   Prospective
                 a leader of this epoch becomes known             Follower
                 grants a vote                                    Unattached, vote remembered
    Prospective  a majority grants pre-votes                      Candidate (epoch + 1)
                 a majority refuses, or timeout                   Follower if a leader is known, else Unattached
                 a leader of this epoch becomes known             Follower
    Candidate    a majority grants votes                          Leader
                 a majority refuses, or timeout, after back-off   Prospective
                 a leader of this epoch becomes known             Follower
    Leader       no majority fetched for 1.5 fetch timeouts       Resigned
                 is told to resign                                Resigned
    Follower     fetch timeout, or the leader's process is gone
                 (voters only)                                    Prospective
                 the leader ends its epoch                        Unattached, short election timeout
    Resigned     election timeout, unless the process stops       Unattached (epoch + 1)

A lone voter passes from Unattached or Resigned through Prospective and Candidate to Leader within one step.
"""

from ottla.raft.roles.follower import Follower
from ottla.raft.roles.leader import Leader
from ottla.raft.roles.leaderless import Candidate, Prospective, Resigned, Unattached

Role = Unattached | Prospective | Candidate | Leader | Follower | Resigned

__all__ = ["Candidate", "Follower", "Leader", "Prospective", "Resigned", "Role", "Unattached"]
