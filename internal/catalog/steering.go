// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"regexp"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

var (
	// steering are the variables by which installers take packages from elsewhere
	// and believe whoever sends them, by which interpreters and loaders run what no
	// package has, and which say where the configuration of all these is.
	steering = regexp.MustCompile(`(?i)^(` + strings.Join([]string{
		`npm_config_.*|uv_.*|pip_.*`,
		`node_(options|path|extra_ca_certs|tls_.*)|ssl_cert_(file|dir)|requests_ca_bundle|curl_ca_bundle|openssl_(conf|modules|engines)`,
		`python(path|home|startup|inspect|userbase|warnings|breakpoint|pycacheprefix)|ld_.*|dyld_.*|bash_env|path|comspec`,
		`prefix|home|userprofile|(local)?appdata|xdg_config_.*`,
	}, "|") + `)$`)

	// proxy are the variables that say by whom packages are fetched. Who installs a
	// recipe may need one, and whoever wrote the recipe cannot know which.
	proxy = regexp.MustCompile(`(?i)^(.*_)?proxy$`)
	// chosen is a value that comes from whoever installs the recipe, or names no
	// proxy at all.
	chosen = regexp.MustCompile(`(?i)^(\$\{[A-Za-z_][A-Za-z0-9_.-]*(:-)?\}|true|false|[01]|)$`)
)

// steered refuses variables that decide what runs.
func (p *problems) steered(field string, t recipe.Transport) {
	for _, e := range t.Env {
		switch {
		case steering.MatchString(e.Name):
			p.add(field+".env."+e.Name, CodeDrift, "decides where packages come from, or what runs beside them: install alone may say that")
		case proxy.MatchString(e.Name) && !chosen.MatchString(e.Value):
			p.add(field+".env."+e.Name, CodeDrift, "must be one variable such as ${HTTPS_PROXY}, without a default: whose proxy fetches packages is for the user to say")
		}
	}
}
