package protocol

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"speceval/internal/evaluation"
	"speceval/method/design"
	"speceval/method/neyman"
)

// Server replies to messages about one evaluation. It is not safe for concurrent use.
type Server struct {
	Program   string // its name and version, for those who ask
	Reference *neyman.Prior
	// Setup is the evaluation that a start asks for, with its design, and what its user
	// should know. A fault of the message is a *FieldError. was is the complete evaluation
	// that it extends, and r its result; nil if it extends none.
	Setup func(spec evaluation.Spec, was *evaluation.Setup, r *evaluation.Result) (setup *evaluation.Setup, notes []string, err error)
	Store *Store // where the evaluation is kept; nil: nowhere

	session *session
	kept    *evaluation.Result // in the store
}

// Reply is the reply to one line, a value that JSON can hold. The error is one after which
// there is no going on: the state cannot be kept, say.
func (s *Server) Reply(line []byte) (reply any, err error) {
	reply, err = s.reply(line)
	var field *FieldError
	if errors.As(err, &field) {
		return Fault{"error", field.Field, field.Message}, nil
	}
	return reply, err
}

func (s *Server) reply(line []byte) (any, error) {
	var m typed
	if err := decode(line, &m, false); err != nil {
		return nil, err
	}
	answer, known := answers[m.Type]
	begins := m.Type == "start" || m.Type == "resume"
	switch {
	case !known:
		return nil, Faultf("type", "there is no message %q: want one of %q", m.Type, slices.Sorted(maps.Keys(answers)))
	case begins && s.session != nil:
		return nil, Faultf("type", "the evaluation has begun: a server has one")
	case !begins && s.session == nil:
		return nil, Faultf("type", "nothing has begun: send start first")
	}
	return answer(s, line)
}

// answers are by type how messages are replied to.
var answers = map[string]func(s *Server, line []byte) (any, error){
	"start": to((*Server).start), "resume": to((*Server).resume), "next": to((*Server).next), "completed": to((*Server).completed),
	"failed": to((*Server).failed), "estimate": to((*Server).estimate), "snapshot": to((*Server).snapshot),
}

// to decodes the message that it answers.
func to[M any](answer func(*Server, *M) (any, error)) func(*Server, []byte) (any, error) {
	return func(s *Server, line []byte) (any, error) {
		m := new(M)
		if err := decode(line, m, true); err != nil {
			return nil, err
		}
		return answer(s, m)
	}
}

func (s *Server) start(m *startMessage) (any, error) {
	if m.Protocol != Version {
		return nil, Faultf("protocol", "%d: this program speaks %d", m.Protocol, Version)
	}
	var was *evaluation.Setup
	var result *evaluation.Result
	var past []*record
	if m.Extend != nil {
		earlier, err := m.Extend.restore(s.Reference, "extend")
		switch {
		case err != nil:
			return nil, err
		case !earlier.done():
			return nil, Faultf("extend", "the evaluation is not complete: let it end, and extend it then")
		case !slices.Equal(m.Tasks, earlier.setup.TaskIDs):
			return nil, Faultf("tasks", "they are not those of the evaluation that is extended")
		}
		if result, err = earlier.result(); err != nil {
			return nil, err
		}
		was = earlier.setup
		past = slices.DeleteFunc(earlier.records(), func(r *record) bool { return r.Number > result.Rows[earlier.index[r.Task]].Rollouts() })
	}
	setup, notes, err := s.Setup(m.Spec, was, result)
	if field := (*FieldError)(nil); err != nil && !errors.As(err, &field) {
		err = Faultf("start", "%v", err)
	}
	if err != nil {
		return nil, err
	}
	session, err := begin(setup, s.Reference, m.Ahead == nil || *m.Ahead, past)
	if err != nil {
		return nil, err
	}
	return s.begin(session, notes, false)
}

func (s *Server) resume(m *resumeMessage) (any, error) {
	session, err := m.Snapshot.restore(s.Reference, "snapshot")
	if err != nil {
		return nil, err
	}
	return s.begin(session, nil, true)
}

// begin takes a session that has begun, of a snapshot if it is resumed, or the one that the
// store has of it. Nothing is stored of one that cannot begin.
func (s *Server) begin(session *session, notes []string, resumed bool) (any, error) {
	if s.Store != nil {
		there, records, begun, err := s.Store.open(session.setup)
		switch {
		case err != nil:
		case !resumed && begun:
			resumed = true
			// Of what is extended a kill may have left some out.
			left := slices.DeleteFunc(session.records(), func(r *record) bool { return s.Store.journal.Has(r.Rollout) })
			if err = s.Store.keep(left...); err != nil {
				break
			}
			records = append(records, left...)
			if session, err = begin(there, s.Reference, session.ahead, records); err != nil {
				err = fmt.Errorf("%s: %w", s.Store.folder, err)
			}
		case len(records) > 0:
			err = Faultf("snapshot", "the state folder has rollouts of this evaluation already: send start, or name another folder")
		default:
			err = s.Store.keep(session.records()...)
		}
		if err != nil {
			return nil, errors.Join(err, s.Store.Close())
		}
	}
	s.session = session
	return s.started(session.setup, notes, resumed), s.keepResult()
}

// started tells what has begun.
func (s *Server) started(setup *evaluation.Setup, notes []string, resumed bool) Started {
	r := Started{
		Type: "started", Protocol: Version, Program: s.Program, Policy: setup.Policy, Tasks: len(setup.TaskIDs),
		Pilots: setup.Design.Pilots, Stages: 1, Donors: []string{}, Resumed: resumed, Completed: s.session.reported,
		InFlight: s.session.inFlight(false), Notes: append([]string{}, notes...),
	}
	if setup.Stop == nil {
		r.Rollouts = len(setup.TaskIDs) * setup.Budget
	}
	switch after := max(1, len(setup.Design.Fractions)); {
	case setup.Extends != nil:
		r.Stages = after
	case setup.Design.Pilots != setup.Budget:
		r.Stages += after
	}
	for _, d := range setup.Donors {
		r.Donors = append(r.Donors, d.Name+" ("+d.Source+")")
	}
	return r
}

func (s *Server) next(m *nextMessage) (any, error) {
	if m.Most < 1 {
		return nil, Faultf("most", "want the number of rollouts that may be given, 1 or more")
	}
	all, err := s.session.next(min(m.Most, design.MostBudget*len(s.session.tasks)))
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		err = errors.Join(err, s.Store.keep(&record{Rollout: r, State: given}))
	}
	return Run{"run", all, s.session.control.Stage(), s.session.final(), s.session.done()}, err
}

func (s *Server) completed(m *completedMessage) (any, error) {
	switch stop := s.session.setup.Stop; {
	case m.Reward == nil:
		return nil, Faultf("reward", "it is not there: want a number from 0 to 1")
	case !(m.Cost >= 0 && m.Cost < 1e9):
		return nil, Faultf("cost", "%v: want dollars, 0 or more", m.Cost)
	case stop != nil && stop.Dollars > 0:
		m.Tokens = int64(math.Ceil(m.Cost * 1e6)) // what the limit counts
	}
	wasFinal, wasDone := s.session.final(), s.session.done()
	released, err := s.session.completed(m.Rollout, *m.Reward, m.Tokens)
	if err == nil {
		err = s.Store.keep(&record{m.Rollout, completed, *m.Reward, m.Tokens})
	}
	if err != nil {
		return nil, err
	}
	r := s.noted(released)
	if r.Final && !wasFinal { // the last decision has just been made
		r.Surplus = s.session.inFlight(true)
	}
	if s.Store != nil && (released || r.Done) {
		err = s.Store.journal.Sync()
	}
	if r.Done && !wasDone {
		err = errors.Join(err, s.keepResult())
	}
	return r, err
}

// noted replies to a report.
func (s *Server) noted(released bool) Noted {
	return Noted{Type: "noted", Released: released, Final: s.session.final(), Done: s.session.done()}
}

func (s *Server) failed(m *rolloutMessage) (any, error) {
	err := s.session.failed(m.Rollout)
	if err == nil {
		err = s.Store.keep(&record{Rollout: m.Rollout, State: failed})
	}
	return s.noted(false), err
}

func (s *Server) estimate(m *estimateMessage) (any, error) {
	var r *evaluation.Result
	var err error
	switch done := s.session.done(); {
	case m.Rewards != nil && !done:
		return nil, Faultf("rewards", "the evaluation is not complete")
	case m.Rewards != nil:
		r, err = s.session.rescored(m.Rewards)
	case done:
		r, err = s.session.result()
	default:
		e := Estimate{Type: "estimate", Provisional: new(float64)}
		if s.session.setup.Stop == nil {
			e.Of = len(s.session.tasks) * s.session.setup.Budget
		}
		*e.Provisional, e.Rollouts, err = s.session.provisional()
		return e, err
	}
	if err != nil {
		return nil, err
	}
	n := Numbers{
		Mean: r.Estimate, StandardError: r.StandardError, Interval: r.Interval,
		StandardErrorTasks: r.StandardErrorTasks, IntervalTasks: r.IntervalTasks, Uniform: r.Uniform, PassK: r.PassK, Known: r.Known,
		Notes: append([]string{}, r.Notes...),
	}
	if m.Tasks {
		n.Rows = r.Rows
	}
	return Estimate{Type: "estimate", Complete: true, Rollouts: r.Rollouts, Of: r.Rollouts, Numbers: &n}, nil
}

func (s *Server) snapshot(*typed) (any, error) {
	return SnapshotReply{"snapshot", s.session.snapshot()}, s.keepResult()
}

// keepResult stores the result of an evaluation that is complete, unless it is there.
func (s *Server) keepResult() error {
	if s.Store == nil || s.session == nil || !s.session.done() {
		return nil
	}
	r, err := s.session.result()
	if err != nil || r == s.kept {
		return err
	}
	s.kept = r
	err = s.session.setup.Complete(s.Store.folder, r)
	if err == nil && s.Store.Kept != nil {
		s.Store.Kept(s.Store.folder)
	}
	return err
}

// longestLine bounds a message, in bytes. A snapshot is the longest that there is.
const longestLine = 64 << 20

// Serve replies to messages, a line each, until there are no more. Replies come in the
// order of messages, one for each.
func (s *Server) Serve(in io.Reader, out io.Writer) error {
	lines, encoder := bufio.NewScanner(in), json.NewEncoder(out)
	lines.Buffer(nil, longestLine)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		reply, err := s.Reply(lines.Bytes())
		if err == nil {
			err = encoder.Encode(reply)
		}
		if err != nil {
			return fmt.Errorf("reply: %w", err)
		}
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("a message is longer than %d MiB", longestLine>>20)
	}
	return errors.Join(err, s.keepResult())
}
