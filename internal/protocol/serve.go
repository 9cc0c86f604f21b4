package protocol

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

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
