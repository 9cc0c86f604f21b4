package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	process "speceval/drills/lab"
)

// starts has servers not start, each time for another reason. Nothing may be
// left of them, and the reason is told.
func starts(ctx context.Context, l *lab) error {
	wrong, err := l.spoiled("architecture", func(dir string) error {
		return replace(filepath.Join(dir, "config.json"), "Qwen2ForCausalLM", "NoSuchForCausalLM")
	})
	if err != nil {
		return err
	}
	garbled, err := l.spoiled("weights", func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "model.safetensors"), bytes.Repeat([]byte{9}, 1000), 0o666)
	})
	if err != nil {
		return err
	}
	sums, err := l.spoiled("hash", func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(strings.Repeat("0", 64)+"  config.json\n"), 0o666)
	})
	if err != nil {
		return err
	}
	l.refused(ctx, "weights with another hash", setting{model: sums}, "config.json has the SHA-256")
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", l.port))
	if err != nil {
		return err
	}
	l.refused(ctx, "a port taken by something else", setting{}, "is in use: stop what listens there")
	if err := listener.Close(); err != nil {
		return err
	}
	l.refused(ctx, "a start that is too slow", setting{seconds: 3}, "not healthy after 3s")
	l.refused(ctx, "a model of an unknown architecture", setting{model: wrong}, "Model architectures ['NoSuchForCausalLM'] are not supported", "replica-")
	l.refused(ctx, "weights that do not load", setting{model: garbled}, "SafetensorError", "replica-")
	return ctx.Err()
}

// refused runs a generation that must fail in words and leave nothing.
func (l *lab) refused(ctx context.Context, fault string, s setting, words ...string) {
	begin := time.Now()
	seen, err := l.refusal(ctx, strings.ReplaceAll(fault, " ", "-"), s, words)
	l.note(fault, begin, seen, "nothing", err)
}

func (l *lab) refusal(ctx context.Context, step string, s setting, words []string) (string, error) {
	s.corpus = l.generation()
	p, err := l.begin(step, s, step, "run", "generate")
	if err != nil {
		return "", err
	}
	defer p.Kill()
	if err := p.Wait(ctx); err != nil {
		return "", err
	}
	text := l.said(step)
	if p.Code() != 1 {
		return "", fmt.Errorf("exit code %d:\n%s", p.Code(), text)
	}
	for _, want := range words {
		if !strings.Contains(text, want) {
			return "", fmt.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, words[0]) {
			return shorten(strings.TrimSpace(line)), nil
		}
	}
	return "", errors.New("no line")
}

// shorten is the beginning of a text, for a column.
func shorten(text string) string {
	if letters := []rune(text); len(letters) > 100 {
		return string(letters[:99]) + "…"
	}
	return text
}

// spoiled is a copy of the model folder, without the sums of its files, that
// something was done to.
func (l *lab) spoiled(name string, spoil func(dir string) error) (string, error) {
	dir := l.path("model-" + name)
	if err := os.CopyFS(dir, os.DirFS(l.model)); err != nil {
		return "", err
	}
	if err := os.RemoveAll(filepath.Join(dir, "SHA256SUMS")); err != nil {
		return "", err
	}
	return dir, spoil(dir)
}

func replace(path, old, new string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Contains(text, []byte(old)) {
		return fmt.Errorf("%s has no %s", path, old)
	}
	return os.WriteFile(path, bytes.ReplaceAll(text, []byte(old), []byte(new)), 0o666)
}

// groups are the process groups of the servers on the drill's ports.
func (l *lab) groups() []int {
	var all []int
	for _, port := range l.ports() {
		if group := process.GroupOn(port); group != 0 {
			all = append(all, group)
		}
	}
	return all
}

// listen takes any free port of this machine.
func listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
