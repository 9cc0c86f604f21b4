package protocol

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	// should know. A fault of the message is a *FieldError.
	Setup func(evaluation.Spec) (setup *evaluation.Setup, notes []string, err error)
	Store *Store // where the evaluation is kept; nil: nowhere

	session *Session
	ahead   bool
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
	kind, err := kind(line)
	if err != nil {
		return nil, err
	}
	answer, known := answers[kind]
	switch {
	case !known:
		return nil, &FieldError{"type", fmt.Sprintf("there is no message %q: want one of %q", kind, Types)}
	case (kind == "start" || kind == "resume") && s.session != nil:
		return nil, &FieldError{"type", "the evaluation has begun: a server has one"}
	case kind != "start" && kind != "resume" && s.session == nil:
		return nil, &FieldError{"type", "nothing has begun: send start first"}
	}
	return answer(s, line)
}

// Types are the types of messages, in the order of an evaluation.
var Types = []string{"start", "next", "completed", "failed", "surplus", "aborted", "estimate", "snapshot", "resume"}

// answers are by type how messages are replied to.
var answers = map[string]func(s *Server, line []byte) (any, error){
	"start": (*Server).start, "resume": (*Server).resume, "next": (*Server).next, "completed": (*Server).completed,
	"failed": (*Server).failed, "aborted": (*Server).aborted, "surplus": (*Server).surplus, "estimate": (*Server).estimate,
	"snapshot": (*Server).snapshot,
}

func (s *Server) start(line []byte) (any, error) {
	var m startMessage
	if err := decode(line, &m); err != nil {
		return nil, err
	}
	if m.Protocol != Version {
		return nil, &FieldError{"protocol", fmt.Sprintf("%d: this program speaks %d", m.Protocol, Version)}
	}
	setup, notes, err := s.Setup(m.Spec)
	if field := (*FieldError)(nil); err != nil && !errors.As(err, &field) && !errors.Is(err, context.Canceled) {
		err = &FieldError{"start", err.Error()}
	}
	if err != nil {
		return nil, err
	}
	return s.begin(setup, m.Ahead == nil || *m.Ahead, notes, nil)
}

func (s *Server) resume(line []byte) (any, error) {
	var m resumeMessage
	if err := decode(line, &m); err != nil {
		return nil, err
	}
	if m.Snapshot == nil {
		return nil, &FieldError{"snapshot", "it is not there: want what snapshot replied"}
	}
	if err := m.Snapshot.check(); err != nil {
		return nil, err
	}
	return s.begin(m.Snapshot.Setup, m.Snapshot.Ahead, nil, m.Snapshot)
}

// begin begins a session: with what the store has of it, or with a snapshot. Nothing is
// stored of one that cannot begin.
func (s *Server) begin(setup *evaluation.Setup, ahead bool, notes []string, from *Snapshot) (any, error) {
	session, err := Begin(setup, s.Reference, ahead)
	if err == nil && from != nil {
		err = session.restore(from)
	}
	if err != nil {
		return nil, err
	}
	resumed := from != nil
	if s.Store != nil {
		there, records, begun, err := s.Store.open(setup)
		switch {
		case err != nil:
			return nil, err
		case from == nil && begun:
			session, err = s.stored(there, ahead, records)
			setup, resumed = there, true
		case len(records) > 0:
			err = &FieldError{"snapshot", "the state folder has rollouts of this evaluation already: send start, or name another folder"}
		default:
			err = s.keepAll(session)
		}
		if err != nil {
			return nil, errors.Join(err, s.Store.Close())
		}
	}
	s.session, s.ahead = session, ahead
	return s.started(setup, notes, resumed), nil
}

// stored is a session as the store has it.
func (s *Server) stored(setup *evaluation.Setup, ahead bool, records []*record) (*Session, error) {
	session, err := Begin(setup, s.Reference, ahead)
	if err != nil {
		return nil, err
	}
	longest := make(map[string]int)
	for _, r := range records {
		longest[r.Task] = max(longest[r.Task], r.Number)
	}
	left := mostRollouts
	for _, n := range longest {
		if left -= min(n, left+1); left < 0 {
			return nil, fmt.Errorf("%s: its journal has numbers of more than %d rollouts: begin anew in another folder", s.Store.Folder, mostRollouts)
		}
	}
	for _, r := range records {
		if err := session.put(r.Rollout, r.state(), r.Reward, r.Tokens); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Store.Folder, err)
		}
	}
	return session, session.catchUp()
}

// started tells what has begun.
func (s *Server) started(setup *evaluation.Setup, notes []string, resumed bool) Started {
	r := Started{
		Type: "started", Protocol: Version, Program: s.Program, Policy: setup.Policy, Tasks: len(setup.TaskIDs),
		Pilots: setup.Design.Pilots, Stages: 1, Donors: []string{}, Resumed: resumed, Completed: s.session.Completions(),
		InFlight: s.session.InFlight(), Notes: append([]string{}, notes...),
	}
	if setup.Stop == nil {
		r.Rollouts = len(setup.TaskIDs) * setup.Budget
	}
	if setup.Design.Pilots != setup.Budget {
		r.Stages += max(1, len(setup.Design.Fractions))
	}
	for _, d := range setup.Donors {
		r.Donors = append(r.Donors, d.Name+" ("+d.Source+")")
	}
	return r
}

func (s *Server) next(line []byte) (any, error) {
	var m nextMessage
	if err := decode(line, &m); err != nil {
		return nil, err
	}
	if m.Most == nil || *m.Most < 1 {
		return nil, &FieldError{"most", "want the number of rollouts that may be given, 1 or more"}
	}
	given, err := s.session.Next(min(*m.Most, design.MostBudget*len(s.session.tasks)))
	if err != nil {
		return nil, err
	}
	for _, r := range given {
		if err := s.keep(&record{Rollout: r, State: "given"}); err != nil {
			return nil, err
		}
	}
	return Run{"run", given, s.session.control.Stage(), s.session.Final(), s.session.Done()}, nil
}

func (s *Server) completed(line []byte) (any, error) {
	var m completedMessage
	if err := decode(line, &m); err != nil {
		return nil, err
	}
	if m.Reward == nil {
		return nil, &FieldError{"reward", "it is not there: want a number from 0 to 1"}
	}
	if !(m.Cost >= 0 && m.Cost < 1e9) {
		return nil, &FieldError{"cost", fmt.Sprintf("%v: want dollars, 0 or more", m.Cost)}
	}
	if s.session.setup.Stop != nil && s.session.setup.Stop.Dollars > 0 {
		m.Tokens = int64(math.Ceil(m.Cost * 1e6)) // what the limit counts
	}
	was := s.session.Final()
	released, err := s.session.Completed(m.Rollout, *m.Reward, m.Tokens)
	if err != nil {
		return nil, err
	}
	if err := s.keep(&record{Rollout: m.Rollout, State: "completed", Reward: *m.Reward, Tokens: m.Tokens}); err != nil {
		return nil, err
	}
	return s.noted(released, was)
}

// noted replies to a report. When the last decision has just been made, the reply lists
// the rollouts that it makes surplus.
func (s *Server) noted(released, wasFinal bool) (any, error) {
	r := Noted{Type: "noted", Released: released, Final: s.session.Final(), Done: s.session.Done()}
	if r.Final && !wasFinal {
		r.Surplus = s.session.Surplus()
	}
	if s.Store != nil && (released || r.Done) {
		return r, s.Store.sync()
	}
	return r, nil
}

func (s *Server) failed(line []byte) (any, error) {
	return s.report(line, "failed", s.session.Failed)
}

func (s *Server) aborted(line []byte) (any, error) {
	return s.report(line, "aborted", s.session.Aborted)
}

// report takes a report without a reward.
func (s *Server) report(line []byte, state string, take func(Rollout) error) (any, error) {
	var m rolloutMessage
	if err := decode(line, &m); err != nil {
		return nil, err
	}
	if err := take(m.Rollout); err != nil {
		return nil, err
	}
	if err := s.keep(&record{Rollout: m.Rollout, State: state}); err != nil {
		return nil, err
	}
	return s.noted(false, true)
}

func (s *Server) surplus(line []byte) (any, error) {
	if err := decode(line, new(typed)); err != nil {
		return nil, err
	}
	return Surplus{"surplus", s.session.Surplus()}, nil
}

func (s *Server) estimate(line []byte) (any, error) {
	var m estimateMessage
	if err := decode(line, &m); err != nil {
		return nil, err
	}
	if m.Rewards != nil {
		rewards, err := byRollout(m.Rewards)
		if err != nil {
			return nil, err
		}
		r, err := s.session.rescored(rewards)
		if err != nil {
			return nil, err
		}
		return complete(r, m.Tasks), nil
	}
	if s.session.Done() {
		r, err := s.session.Result()
		if err != nil {
			return nil, err
		}
		return complete(r, m.Tasks), nil
	}
	e := Estimate{Type: "estimate"}
	rollouts, _ := s.session.Counts()
	for _, n := range rollouts {
		e.Rollouts += n
	}
	if s.session.setup.Stop == nil {
		e.Of = len(s.session.tasks) * s.session.setup.Budget
	}
	mean, err := s.session.Provisional()
	e.Provisional = &mean
	return e, err
}

// complete is the estimate of a complete evaluation.
func complete(r *evaluation.Result, tasks bool) Estimate {
	n := Numbers{
		Mean: r.Estimate, StandardError: r.StandardError, Interval: r.Interval,
		StandardErrorTasks: r.StandardErrorTasks, IntervalTasks: r.IntervalTasks, Uniform: r.Uniform, PassK: r.PassK, Known: r.Known,
		Notes: append([]string{}, r.Notes...),
	}
	if tasks {
		n.Rows = slices.Clone(r.Rows)
	}
	return Estimate{Type: "estimate", Complete: true, Rollouts: r.Rollouts, Of: r.Rollouts, Numbers: &n}
}

func (s *Server) snapshot(line []byte) (any, error) {
	if err := decode(line, new(typed)); err != nil {
		return nil, err
	}
	return SnapshotReply{"snapshot", s.session.Snapshot(s.ahead)}, nil
}

// keep stores a record.
func (s *Server) keep(r *record) error {
	if s.Store == nil {
		return nil
	}
	return s.Store.append(r)
}

// keepAll stores all that a session knows.
func (s *Server) keepAll(session *Session) error {
	for task, entries := range session.tasks {
		for k, e := range entries {
			r := &record{Rollout: Rollout{session.setup.TaskIDs[task], k + 1}, State: "given"}
			if e.state == done {
				r.State, r.Reward, r.Tokens = "completed", e.reward, e.tokens
			}
			if err := s.keep(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// longestLine bounds a message, in bytes. A snapshot is the longest that there is.
const longestLine = 64 << 20

// Serve replies to messages, a line each, until there are no more. Replies come in the
// order of messages, one for each. It ends with the context, when what was replied to is
// kept.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx, in, out) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines, replies := bufio.NewReaderSize(in, 1<<16), bufio.NewWriterSize(out, 1<<16)
	encoder := json.NewEncoder(replies)
	encoder.SetEscapeHTML(false)
	for ctx.Err() == nil {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return replies.Flush()
		}
		var reply any
		var field *FieldError
		switch {
		case errors.As(err, &field):
			reply = Fault{"error", field.Field, field.Message}
		case err != nil:
			return err
		default:
			if reply, err = s.Reply(line); err != nil {
				return err
			}
		}
		if err := encoder.Encode(reply); err != nil {
			return fmt.Errorf("reply: %w", err)
		}
		if lines.Buffered() == 0 { // else more messages are there already
			if err := replies.Flush(); err != nil {
				return fmt.Errorf("reply: %w", err)
			}
		}
	}
	return nil
}

// readLine reads a line. One that is too long is read past, and a *FieldError. What ends
// without a newline was cut off.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	var long []byte
	for size := 0; ; {
		if size += len(line); size <= longestLine {
			long = append(long, line...)
		}
		switch {
		case err == nil && size > longestLine:
			return nil, &FieldError{"line", fmt.Sprintf("it has %d bytes: want %d at most", size, longestLine)}
		case err == nil:
			return long, nil
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(long)) > 0:
			return nil, errors.New("the last message was cut off: want a newline at its end")
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		line, err = r.ReadSlice('\n')
	}
}
