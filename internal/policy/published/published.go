// Package published keeps the rules that are in force for all brokers of a record, by version, and which
// broker follows which.
//
// A version is a whole file of rules. It has a number, which counts up, and who published it; publishing is
// a compare-and-set, so two people cannot publish over each other unseen. A version without text
// says that no rules are published. The text of the last versions stays in the record, so that it can be said what
// a rule of version 7 was, which answered a request.
//
// # Concurrency
//
// Open starts two goroutines, that of the mirror of the record and one that says what this broker follows;
// Close ends both. All methods may be called from any goroutine.
package published

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/store/kvmirror"
)

// Errors of a Store.
var (
	ErrChanged     = errors.New("another version of the rules was published meanwhile; look at it, and publish again")
	ErrNoVersion   = errors.New("no such version of the published rules is kept")
	ErrUnavailable = errors.New("the store of the published rules is not available; try again")
)

const (
	keyPrefix = "rules."
	nowKey    = keyPrefix + "now"
	textKey   = keyPrefix + "text." // and the version
	atKey     = keyPrefix + "at."   // and the broker

	// MaxText bounds a version, in bytes.
	MaxText = 256 << 10
	// keepTexts is how many versions are kept.
	keepTexts = 50
	// Unheard is after what time a broker that says nothing is left out of Brokers.
	Unheard = time.Hour
	// reportEvery is how often a broker says again what it follows, and reportTime bounds that.
	reportEvery = 10 * time.Minute
	reportTime  = 5 * time.Second
)

// Version is what is published, and Following which rules a broker follows.
type (
	Version   = hook.RulesVersion
	Following = hook.RulesFollowing
)

// Config is what a Store needs. KV is required; Now is the time that the brokers share, nil: this machine's.
type Config struct {
	KV   kvmirror.KV
	Self string // this broker's id; empty: it says nothing to others
	Host string
	Now  func() time.Time
	Logf func(format string, args ...any)
}

// Store keeps them. Make it with Open.
type Store struct {
	cfg    Config
	kv     *kvmirror.Mirror
	news   kvmirror.News
	report chan struct{} // holds one

	mu      sync.Mutex
	now     Version // guarded by mu, as all below
	rev     uint64
	brokers map[string]Following
	here    Following
}

// Open reads what is published. ctx bounds the reading only.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Store{cfg: cfg, report: make(chan struct{}, 1), brokers: map[string]Following{}}
	var err error
	if s.kv, err = kvmirror.Open(ctx, kvmirror.Config{KV: cfg.KV, Prefix: keyPrefix, Apply: s.apply, What: "published rules", Logf: cfg.Logf}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if cfg.Self != "" {
		s.kv.Go(s.reports)
	}
	return s, nil
}

// Close ends it. It may be called more than once.
func (s *Store) Close() error {
	s.kv.Close()
	return nil
}

// Notify has f called whenever another version is published.
func (s *Store) Notify(f func()) { s.news.Notify(f) }

func (s *Store) apply(key string, value []byte, rev uint64) (after func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if broker, ok := strings.CutPrefix(key, atKey); ok {
		var f Following
		if value == nil || json.Unmarshal(value, &f) != nil {
			delete(s.brokers, broker)
			return nil
		}
		f.Broker = broker
		s.brokers[broker] = f
		return nil
	}
	if key != nowKey {
		return nil
	}
	var v Version
	if value != nil {
		var err error
		if v, err = decode(value); err != nil {
			s.cfg.Logf("rules: what is published is unreadable; the version before stays in force")
			return nil
		}
	}
	s.now, s.rev = v, rev
	return s.news.Tell
}

// decode reads a version. JSON that is none must not pass for one without rules: those in force, which may deny, would
// be gone.
func decode(value []byte) (Version, error) {
	var v Version
	if err := json.Unmarshal(value, &v); err != nil {
		return Version{}, err
	}
	if v.Version < 1 || len(v.Text) > MaxText {
		return Version{}, errors.New("it is no version of rules")
	}
	return v, nil
}

// Now is what is published.
func (s *Store) Now() Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Name is how a version is called where rules are named: in the record, and in lists.
func Name(version int) string { return "published rules, version " + strconv.Itoa(version) }

// VersionOf is the version of a Name, 0 of another.
func VersionOf(name string) int {
	text, ok := strings.CutPrefix(name, "published rules, version ")
	n, err := strconv.Atoi(text)
	if !ok || err != nil {
		return 0
	}
	return n
}

// Source is what is published as a source of rules; ok is false if nothing is.
func (s *Store) Source() (source policy.Source, ok bool) {
	v := s.Now()
	if v.Text == "" {
		return policy.Source{}, false
	}
	return policy.Source{Name: Name(v.Version), Layer: policy.User, Data: []byte(v.Text), Signed: v.Signed}, true
}

// Publish makes text the next version after the version after, with a signature or nil. Whether both are right is for the
// caller to check. ErrChanged, ErrUnavailable; *hook.FieldError.
func (s *Store) Publish(ctx context.Context, text string, signature *hook.RulesSignature, by hook.Approver, after int) (Version, error) {
	if len(text) > MaxText {
		return Version{}, hook.BadField("text", fmt.Sprintf("want at most %d bytes", MaxText))
	}
	s.mu.Lock()
	now, rev := s.now, s.rev
	s.mu.Unlock()
	if now.Version != after {
		return Version{}, ErrChanged
	}
	v := Version{Version: after + 1, Text: text, By: by, At: s.cfg.Now().UTC(), Signed: signature}
	value, err := json.Marshal(v)
	if err != nil {
		return Version{}, fmt.Errorf("encode rules: %w", err)
	}
	// The one before by its number first: a version that answered can be looked up.
	if err := s.keep(ctx, now); err != nil {
		return Version{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	had := rev
	if had == 0 {
		rev, err = s.cfg.KV.Create(ctx, nowKey, value)
	} else {
		rev, err = s.cfg.KV.Update(ctx, nowKey, value, rev)
	}
	if err != nil {
		if there, rev, getErr := s.cfg.KV.Get(ctx, nowKey); getErr == nil && rev != had {
			s.kv.Offer(nowKey, there, rev)
			return Version{}, ErrChanged
		}
		return Version{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	s.kv.Offer(nowKey, value, rev)
	if old := now.Version - keepTexts; old > 0 {
		_, _ = s.cfg.KV.Delete(ctx, textKey+strconv.Itoa(old)) // else it stays
	}
	return v, nil
}

// keep writes a version under its number, which is the same whoever does so.
func (s *Store) keep(ctx context.Context, v Version) error {
	if v.Version == 0 {
		return nil
	}
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	key := textKey + strconv.Itoa(v.Version)
	if _, err = s.cfg.KV.Create(ctx, key, value); err == nil {
		return nil
	}
	if _, _, getErr := s.cfg.KV.Get(ctx, key); getErr == nil {
		return nil
	}
	return err
}

// At is a version that was published. ErrNoVersion, ErrUnavailable.
func (s *Store) At(ctx context.Context, version int) (Version, error) {
	now := s.Now()
	if version == now.Version {
		return now, nil
	}
	if version < 1 || version > now.Version || version < now.Version-keepTexts {
		return Version{}, ErrNoVersion
	}
	value, _, err := s.cfg.KV.Get(ctx, textKey+strconv.Itoa(version))
	var v Version
	if err == nil {
		v, err = decode(value)
	}
	if err == nil && v.Version != version {
		err = fmt.Errorf("what is kept of version %d is another", version)
	}
	if err != nil {
		return Version{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return v, nil
}

// Follow says what this broker follows, for all to see.
func (s *Store) Follow(f Following) {
	s.mu.Lock()
	same := f == s.here
	s.here = f
	s.mu.Unlock()
	if same {
		return
	}
	select {
	case s.report <- struct{}{}:
	default:
	}
}

// Brokers lists what the brokers follow that were heard of lately, by host and id.
func (s *Store) Brokers() []Following {
	now := s.cfg.Now()
	s.mu.Lock()
	list := make([]Following, 0, len(s.brokers))
	for _, f := range s.brokers {
		if now.Sub(f.At) < Unheard {
			list = append(list, f)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(list, func(x, y Following) int {
		return cmp.Or(strings.Compare(x.Host, y.Host), strings.Compare(x.Broker, y.Broker))
	})
	return list
}

// reports writes what this broker follows until ctx is done, and takes it back then.
func (s *Store) reports(ctx context.Context) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.report:
		case <-tick.C:
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTime)
			defer cancel()
			_, _ = s.cfg.KV.Delete(ctx, atKey+s.cfg.Self) // else it is left out in an hour
			return
		}
		s.mu.Lock()
		f := s.here
		s.mu.Unlock()
		if f.Follows == "" {
			continue
		}
		f.Broker, f.Host, f.At = s.cfg.Self, s.cfg.Host, s.cfg.Now().UTC()
		s.write(ctx, f) // a failure is made good by the next one
	}
}

func (s *Store) write(ctx context.Context, f Following) {
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	value, err := json.Marshal(f)
	if err != nil {
		return
	}
	key := atKey + s.cfg.Self
	_, rev, err := s.cfg.KV.Get(ctx, key)
	if err != nil {
		rev, err = s.cfg.KV.Create(ctx, key, value)
	} else {
		rev, err = s.cfg.KV.Update(ctx, key, value, rev)
	}
	if err == nil {
		s.kv.Offer(key, value, rev)
	}
}
