// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package catalog

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// searches is how many words are searched for, one after the other.
const searches = 500

// read is one request and what answers it.
type read struct {
	// path is the ingress's, file that of a server of files.
	path, file string
	body       []byte
}

// kind is a kind of reads, of which clients take one after the other.
type kind struct {
	name  string
	reads []read
}

// reads asks the ingress for everything that will be read.
func (w *installation) reads(t *testing.T, p *world.Process, recipes int) []kind {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	kinds := []kind{
		{"list, 20", []read{{path: "/recipes?limit=20"}}},
		{"list, 100", []read{{path: "/recipes?limit=100"}}},
		{"search", nil},
		{"get", nil},
	}
	for range searches {
		word := url.QueryEscape(wordOf(random.Uint64N(vocabulary / 10)))
		kinds[2].reads = append(kinds[2].reads, read{path: "/search?q=" + word})
	}
	for _, n := range random.Perm(recipes) {
		kinds[3].reads = append(kinds[3].reads, read{path: "/recipes/" + nameOf(n)})
	}
	for k := range kinds {
		for n := range kinds[k].reads {
			r := &kinds[k].reads[n]
			r.file, r.body = fmt.Sprintf("/%d/%d.json", k, n), w.get(t, "http://"+p.Addr+r.path)
		}
	}
	return kinds
}

func (w *installation) get(t *testing.T, url string) []byte {
	t.Helper()
	res := must.Value(asker.Get(url))(t)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, error %v: %.300s", url, res.StatusCode, err, body)
	}
	return body
}

// nginxConf serves files and does nothing else. It keeps them open, so that none
// is looked for again.
const nginxConf = `daemon off;
worker_processes auto;
pid %[1]s/nginx.pid;
error_log %[1]s/nginx.log error;
events { worker_connections 4096; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	keepalive_requests 1000000000;
	sendfile on;
	open_file_cache max=20000 inactive=1h;
	types { application/json json; }
	server {
		listen %[2]s;
		root %[3]s;
	}
}
`

// fileServers writes the answers into files and starts the servers of them.
func fileServers(t *testing.T, kinds []kind) []way {
	t.Helper()
	dir := t.TempDir()
	// nginx's workers are of another user where it is started by root.
	files := must.Value(os.MkdirTemp("", "catalog-files"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(files) })
	must.Succeed(t, os.Chmod(files, 0o755))
	for k, kind := range kinds {
		must.Succeed(t, os.Mkdir(filepath.Join(files, fmt.Sprint(k)), 0o755))
		for _, r := range kind.reads {
			must.Succeed(t, os.WriteFile(filepath.Join(files, r.file), r.body, 0o644))
		}
	}
	self := must.Value(os.Executable())(t)
	nginx, golang := world.UnusedAddress(t), world.UnusedAddress(t)
	conf := filepath.Join(dir, "nginx.conf")
	must.Succeed(t, os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, nginx, files), 0o600))
	fileServer := exec.Command(self)
	fileServer.Env = append(os.Environ(), "BENCH_SERVE="+golang, "BENCH_FILES="+files, "GOGC=400")
	world.Start(t, dir, "nginx", exec.Command(os.Getenv("BENCH_NGINX"), "-e", dir+"/nginx.log", "-c", conf)).AwaitListener(t, nginx)
	world.Start(t, dir, "Go's FileServer", fileServer).AwaitListener(t, golang)
	return []way{{"nginx, files", nginx, true}, {"Go's FileServer", golang, true}}
}
