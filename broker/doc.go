// Package broker holds permission requests until somebody or something answers them.
//
// One request waits in its session's queue from Ask until exactly one of these is recorded: a
// decision, its deadline, or the agent's own settlement. The record (see Log) is the arbiter;
// the broker's memory follows it.
//
// # The states of a request
//
// A request in memory is in one of these states. The fields of its entry say which; where
// several rows hold, the lowest counts. "Shown" says whether approvers see it wait, "a decision" what
// Decide makes of one.
//
//	state                  fields                      newest record    shown  a decision
//	waiting                waiters                     asked            yes    is recorded
//	detached               Detached                    asked            yes    is recorded
//	held elsewhere         HeldElsewhere               asked            yes    is recorded
//	resumed                resumed                     asked            yes    is recorded
//	expiring               end, of outcome expired     asked            yes    is recorded
//	withdrawing            end, of outcome withdrawn   asked            yes    is recorded
//	awaiting a rule        awaitingRule                asked            no     is recorded
//	lapsed                 lapsed                      asked            no     ErrUnavailable
//	recording              no record is known          none             no     ErrNotFound
//	answered unrecorded    answeredUnrecorded          asked or none    yes    ErrSettled
//	handing back           handingBack                 asked or none    no     ErrSettled
//	settled                State is Ended              decided, ended   no     ErrSettled
//	forgotten              Ended, and sess is nil      decided, ended   no     ErrSettled
//
// Whatever its row says, nothing is shown while a rule is awaited, nor before the tail has brought asked,
// which is a little later than Append returns. "Is recorded" is said of an attempt: the record takes it if
// nothing came first. A form cannot come back to its hook, so a decision about one that has an end is
// ErrSettled in every state. Where replicas share the record, a decision about what was answered unrecorded is
// ErrUnavailable: another may have recorded one. What is settled answers every hook that comes back to it, see checkOwner; it
// waits for proof that the answer was followed. What is forgotten stays for its last follow-up records only,
// and is gone then.
//
// What leads from one state to the next, as seen when the lock is free. "Any asked" is each state whose
// newest record may be asked. A request turns up when the tail brings one that has no entry: its
// hook was sent away, since nobody knew that it was recorded, or came to another replica. While
// the broker closes, no timer, no event and no hook leads on.
//
//	new -> recording                      Ask or Attach
//	new -> handing back                   HandBack; or it was open at the start, or turns up, without a payload
//	new -> resumed                        it was open when this broker started, and no replica shares the record
//	new -> lapsed                         the same, and its time is over by the clock
//	new -> held elsewhere                 it was open then, or turns up, and replicas share the record
//	new -> awaiting a rule                it was open then, or turns up, and a rule was to answer it
//	new -> detached                       it turns up, remote, and no replica shares the record; or this broker recorded it, and did not know
//	new -> withdrawing                    the same, not remote; or it is a form that was open at the start
//	new -> expiring                       it turns up, not remote, after its deadline
//	new -> settled                        it was settled when this broker started, and waits for proof
//	recording -> waiting                  asked is recorded
//	recording -> awaiting a rule          the same, and the rules decide it
//	recording -> expiring                 the same, and its deadline has passed
//	recording -> withdrawing              the same, and an event said that the agent does not wait
//	recording -> answered unrecorded      its deadline passed, and the log has not answered in time
//	recording, answered unrecorded -> handing back  its id is that of another, which was handed back
//	handing back -> held elsewhere        its id is that of a request of another replica
//	recording -> gone                     the log does not take it, or has it as settled or as another's
//	awaiting a rule -> waiting            the answer could not be recorded, or the hook came back and the rules say otherwise
//	awaiting a rule -> detached, held elsewhere, resumed, expiring, withdrawing  the same, and this came to hold meanwhile
//	awaiting a rule -> answered unrecorded  its deadline passed, the log takes no end, and the agent does not wait
//	waiting -> detached                   its remote hook's connection broke, or its hook showed to be a stranger
//	waiting -> held elsewhere             the same, and there are several replicas
//	waiting -> withdrawing                its hook is gone, or an event says that the agent does not wait
//	waiting -> expiring                   its deadline passed
//	detached -> waiting                   its hook is back
//	detached, resumed -> withdrawing      it did not come back in time, or an event says that the agent does not wait
//	detached, resumed -> expiring         its deadline passed before that
//	detached -> held elsewhere            its hook went on at another replica, or that one was silent only
//	held elsewhere -> waiting             its hook came here
//	held elsewhere -> detached            the replica that held its hook is gone
//	held elsewhere -> withdrawing         an event says that the agent does not wait
//	held elsewhere -> expiring            nobody answered, long enough after the deadline
//	resumed -> waiting                    its hook is back
//	lapsed -> waiting                     its hook is back
//	lapsed -> resumed                     its duplicate is back, and its own hook is not
//	lapsed -> awaiting a rule             one of them is back, and a rule is still to answer it
//	lapsed -> expiring, withdrawing       one of them is back, and the end is not recorded yet
//	expiring -> answered unrecorded       the log takes no end, and the agent does not wait
//	withdrawing -> waiting                its hook came back before the end was recorded, which was for its being away
//	withdrawing -> resumed                the same, of a resumed one's duplicate
//	withdrawing -> held elsewhere         its hook went on at another replica
//	withdrawing -> expiring               the same, and the deadline has passed
//	withdrawing -> answered unrecorded    the hook is there, the deadline passed, and the log takes no end
//	any asked -> settled                  a decision or an end is recorded, here or by another replica
//	any asked -> gone                     the same, and there is nothing to prove: it is withdrawn, or its turn is over; or the log does not take asked
//	settled -> forgotten                  proof came or can come no more, and follow-ups are on their way
//	settled -> gone                       the same, and none is
//	forgotten -> gone                     its last follow-up is recorded, or cannot be
//
// # Concurrency
//
// New starts seven goroutines, with Replicas eight, and Close ends them: one tails the record and alone folds it into
// requests (before it does, New folds those of the checkpoint); four append the ends of requests
// (enders); one appends what follows (delivered, refused, confirmed, overruled: follow-ups),
// to a shared log several at a time, each in a goroutine that it waits for; one saves
// checkpoints; one looks whether other replicas are gone. A note to those has a short-lived one. Calls, events and timers change the rest of a request's state, under the broker's
// lock. A waiting request has no goroutine, one timer. Ask, Decide, Observe, Watch and the rest may
// be called from any goroutine; nothing calls the log while it holds the broker's lock.
package broker
