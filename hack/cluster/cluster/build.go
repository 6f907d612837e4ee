// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// programs are the names under which the one binary is linked into the assets
// folder; kube/main.go knows the same ones.
var programs = []string{
	"containerd", "coredns", "ctr", "etcd", "kube-apiserver", "kube-controller-manager",
	"kube-proxy", "kube-scheduler", "kubectl", "kubelet", "network-policies", "registry", "volumes",
}

// progressInterval keeps a build log readable: the cold build takes minutes.
const progressInterval = 10 * time.Second

func runBuild(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	printAssets := flags.Bool("print-assets", false, "print the folder of the programs on standard output")
	if err := flags.Parse(args); err != nil {
		return err
	}
	assets, err := buildAssets(ctx)
	if err == nil && *printAssets {
		fmt.Println(assets)
	}
	return err
}

// buildAssets returns a folder with all programs, built unless a folder for
// the same sources and the same Go is there from before.
func buildAssets(ctx context.Context) (string, error) {
	module, err := moduleFolder()
	if err != nil {
		return "", err
	}
	version, err := kubernetesVersion(module)
	if err != nil {
		return "", err
	}
	assets, err := assetsFolder(module, version)
	if err != nil {
		return "", err
	}
	if isBuilt(assets) {
		return assets, nil
	}
	err = install(assets, func(partial string) error {
		return compile(ctx, module, version, partial)
	})
	return assets, err
}

// binary is the file that all programs are links to, and shim the one beside it.
// Both have the name of the folder of their sources.
const (
	binary = "kube"
	shim   = "containerd-shim-runc-v2"
)

func assetsFolder(module, version string) (string, error) {
	sum, err := sourceSum(module)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	return filepath.Join(cache, "hosted-bridge", "kubernetes-"+version+"-"+sum), nil
}

func isBuilt(assets string) bool {
	_, err := os.Stat(filepath.Join(assets, binary))
	return err == nil
}

// install has the binaries made in a folder beside assets and renames that: the
// folder appears whole or not at all.
func install(assets string, build func(partial string) error) error {
	if err := os.MkdirAll(filepath.Dir(assets), 0o755); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(assets), ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	if err := errors.Join(os.Chmod(partial, 0o755), build(partial)); err != nil {
		return err
	}
	for _, name := range programs {
		if err := os.Symlink(binary, filepath.Join(partial, name)); err != nil {
			return err
		}
	}
	// Another process may have built the same folder meanwhile: its is as good.
	if err := os.Rename(partial, assets); err != nil && !isBuilt(assets) {
		return err
	}
	return nil
}

// moduleFolder finds this module's folder from the working directory upwards.
func moduleFolder() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		module := filepath.Join(folder, "hack", "cluster")
		if _, err := os.Stat(filepath.Join(module, "go.mod")); err == nil {
			return module, nil
		}
		if filepath.Dir(folder) == folder {
			return "", fmt.Errorf("run this inside the repository: no folder above holds hack/cluster/go.mod")
		}
		folder = filepath.Dir(folder)
	}
}

var kubernetesRequirement = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v1\.[0-9]+\.[0-9]+)`)

func kubernetesVersion(module string) (string, error) {
	mod, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", err
	}
	found := kubernetesRequirement.FindSubmatch(mod)
	if found == nil {
		return "", fmt.Errorf("%s/go.mod requires no k8s.io/kubernetes", module)
	}
	return string(found[1]), nil
}

// sourceSum names a build: equal sums mean equal programs.
func sourceSum(module string) (string, error) {
	var sources []string
	for _, folder := range []string{binary, shim, "policy", "volumes"} {
		found, err := filepath.Glob(filepath.Join(module, folder, "*.go"))
		if err != nil {
			return "", err
		}
		sources = append(sources, found...)
	}
	sources = slices.DeleteFunc(sources, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOARCH)
	for _, file := range append(sources, filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum")) {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(hash, filepath.Base(file), len(content))
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil)[:6]), nil
}

// compile builds the binaries into a folder and says meanwhile how far it is.
func compile(ctx context.Context, module, version, folder string) error {
	minor := strings.Split(version, ".")[1]
	const stamp = "k8s.io/component-base/version."
	ldflags := fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=1 -X %[1]sgitMinor=%[3]s", stamp, version, minor)
	say("building Kubernetes %s, etcd and containerd from Go modules: about 7 minutes on 2 cores the first time, then cached", version)
	env := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")

	total := stalePackages(ctx, module, env)
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-trimpath", "-ldflags", ldflags, "-o", folder, "./"+binary, "./"+shim)
	cmd.Dir, cmd.Env = module, env
	var tail bytes.Buffer
	lines, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start go build: %w", err)
	}
	reportProgress(lines, &tail, total, start)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, tail.String())
	}
	say("built Kubernetes %s in %s", version, time.Since(start).Round(time.Second))
	return nil
}

// stalePackages counts what the build will compile. It also downloads the
// modules. The count only serves the progress line, so a failure is not one.
func stalePackages(ctx context.Context, module string, env []string) int {
	cmd := exec.CommandContext(ctx, "go", "list", "-trimpath", "-deps", "-f", "{{if .Stale}}x{{end}}", "./"+binary, "./"+shim)
	cmd.Dir, cmd.Env = module, env
	out, err := cmd.Output()
	if err != nil {
		return 0
	}
	return bytes.Count(out, []byte("x"))
}

var packageLine = regexp.MustCompile(`^[a-zA-Z0-9_.\-/~]+$`)

// reportProgress reads the lines of go build -v, one for each package, and
// keeps those that are not a package's name: they are the errors.
func reportProgress(lines io.Reader, tail *bytes.Buffer, total int, start time.Time) {
	done, last := 0, start
	for scanner := bufio.NewScanner(lines); scanner.Scan(); {
		line := scanner.Text()
		switch {
		case strings.HasPrefix(line, "go: downloading"):
		case packageLine.MatchString(line):
			done++
		default:
			fmt.Fprintln(tail, line)
		}
		if time.Since(last) >= progressInterval {
			last = time.Now()
			say("  %s  %d of %d packages, now %s", time.Since(start).Round(time.Second), done, max(total, done), line)
		}
	}
}

// say prints a line of progress. Standard output is for what scripts read.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
