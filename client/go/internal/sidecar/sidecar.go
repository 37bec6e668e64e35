// Package sidecar starts real sidecars for tests.
package sidecar

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

const startTimeout = 60 * time.Second

// Sidecar is a running `askonce serve`, which ends with the test that started it.
type Sidecar struct {
	// Target is its Unix socket.
	Target string
	// Admin is the socket of its admin listener.
	Admin   string
	t       testing.TB
	command string
	config  string
	log     bytes.Buffer
	process *exec.Cmd
	ended   chan struct{}
}

// Command returns the path of the `askonce` command: $TEST_ASKONCE, or the one that `make install` puts beside the
// repository. It skips the test, saying so, when there is none.
func Command(t testing.TB) string {
	t.Helper()
	path := os.Getenv("TEST_ASKONCE")
	if path == "" {
		_, here, _, _ := runtime.Caller(0)
		path = filepath.Join(filepath.Dir(here), "..", "..", "..", "..", ".venv", "bin", "askonce")
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no sidecar at %s: run `make install`, or set TEST_ASKONCE", path)
	}
	return path
}

// Start starts a sidecar with rules (nil: the default rule) and waits until it serves.
func Start(t testing.TB, rules any) *Sidecar {
	t.Helper()
	command := Command(t)
	folder, err := os.MkdirTemp("/tmp", "ao-") // a socket's path may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	s := &Sidecar{
		Target:  "unix://" + filepath.Join(folder, "s"),
		Admin:   "unix://" + filepath.Join(folder, "a"),
		t:       t,
		command: command,
		config:  filepath.Join(folder, "askonce.yaml"),
	}
	settings := map[string]any{
		"listen": []string{s.Target},
		"admin":  map[string]any{"listen": s.Admin},
		"store":  map[string]any{"path": filepath.Join(folder, "store"), "max_bytes": "256MiB"},
	}
	if rules != nil {
		settings["rules"] = rules
	}
	document, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.config, document, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Run()
	t.Cleanup(s.Kill)
	return s
}

// Run starts the process, again after Kill, and waits until it serves.
func (s *Sidecar) Run() {
	s.t.Helper()
	s.process = exec.Command(s.command, "serve", "--config", s.config)
	s.process.Stderr = &s.log
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func(process *exec.Cmd, ended chan struct{}) {
		_ = process.Wait()
		close(ended)
	}(s.process, s.ended)
	s.wait()
}

func (s *Sidecar) wait() {
	s.t.Helper()
	channel, err := grpc.NewClient(s.Target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = channel.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	go func() {
		select {
		case <-s.ended: // there is nothing to wait for
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		request := &grpc_health_v1.HealthCheckRequest{}
		health, err := grpc_health_v1.NewHealthClient(channel).Check(ctx, request, grpc.WaitForReady(true))
		if err == nil && health.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING {
			return
		}
		if ctx.Err() != nil {
			s.t.Fatalf("the sidecar did not start: %s", s.log.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Signal sends a signal to the process.
func (s *Sidecar) Signal(signal os.Signal) {
	s.t.Helper()
	if err := s.process.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}

// Kill ends the process as kill -9 does.
func (s *Sidecar) Kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		<-s.ended
		s.process = nil
	}
}
