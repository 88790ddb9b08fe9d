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
//	answered unrecorded    answeredUnrecorded          asked            yes    ErrSettled
//	handing back           handingBack                 asked            no     ErrSettled
//	recording              no record is known          none             no     ErrNotFound
//	settled                State is Ended              decided, ended   no     ErrSettled
//	forgotten              Ended, and sess is nil      decided, ended   no     ErrSettled
//
// "Is recorded" is said of an attempt: the record takes it if nothing came first. A form cannot come
// back to its hook, so a decision about one that is withdrawing or expiring is ErrSettled. What is
// settled answers every hook that comes back to it, see checkOwner; it waits for proof that the answer
// was followed. What is forgotten stays for its last follow-up records only, and is gone then.
//
// What leads from one state to the next:
//
//	new -> recording                      Ask, Attach or HandBack
//	new -> held elsewhere                 another replica recorded it
//	new -> resumed                        it was open when this broker started
//	new -> lapsed                         the same, and its time is over by the clock
//	recording -> waiting                  asked is recorded
//	recording -> awaiting a rule          the same, and the rules decide it
//	recording -> handing back             the same, by HandBack
//	recording -> gone                     the log does not take it
//	awaiting a rule -> settled            the rule's answer is recorded
//	awaiting a rule -> waiting            it could not be, or the hook came back and the rules say otherwise
//	waiting -> settled                    a decision is recorded
//	waiting -> detached                   its remote hook's connection broke
//	waiting -> held elsewhere             the same, and there are several replicas
//	waiting -> withdrawing                its hook is gone, or an event says that the agent does not wait
//	waiting -> expiring                   its deadline passed
//	detached -> waiting                   its hook is back
//	detached -> withdrawing               it did not come back in time
//	held elsewhere -> waiting             its hook came here
//	held elsewhere -> settled             the other replica recorded an answer
//	held elsewhere -> expiring            nobody did, long enough after the deadline
//	resumed -> waiting                    its hook is back
//	resumed -> withdrawing                it did not come back in time
//	lapsed -> waiting                     its hook is back, and has time left
//	lapsed -> settled                     it did not come back in time: the deadline is recorded
//	expiring -> answered unrecorded       the log takes no end, and the agent does not wait
//	expiring -> settled                   the end is recorded, or a decision was quicker
//	answered unrecorded -> settled        the end is recorded, late
//	withdrawing -> waiting                its hook came back before the end was recorded
//	withdrawing -> gone                   the end is recorded
//	handing back -> settled               the end is recorded
//	settled -> forgotten                  proof came or can come no more, and follow-ups are on their way
//	settled -> gone                       the same, and none is
//	forgotten -> gone                     its last follow-up is recorded
//
// # Concurrency
//
// New starts seven goroutines, and Close ends them: one tails the record and is the only writer
// of requests' states; four append the ends of requests (enders); one appends what follows
// (delivered, confirmed, overruled: follow-ups); one saves checkpoints. A waiting request has
// no goroutine, one timer. Ask, Decide, Observe, Watch and the rest may be called from any
// goroutine; nothing calls the log while it holds the broker's lock.
package broker
