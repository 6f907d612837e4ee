// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
)

const usage = `Make a bundle of what npm or uv installed, and upload it to the store; or with --registry
find a bundle in a registry of images, or upload one of the store there.

Usage: ingress bundle --tree=DIR --log=FILE --exit-code=FILE --package=NAME --version=VERSION --architecture=ARCH --runtime=IMAGE [flags]
       ingress bundle --registry=HOST/PATH --registry-tag=TAG [--digest=DIGEST] [flags]

`

// envRegistryCA is the environment's variable with certificate authorities of the registry.
const envRegistryCA = "REGISTRY_AUTHORITIES"

// envKeybrokerCA is the environment's variable with the keybroker's CA
// certificate: this process reads nothing from the API server.
const envKeybrokerCA = "KEYBROKER_CA"

// Options are the settings of a packer.
type Options struct {
	Tree, Log, ExitCode                           string
	Method, Package, Version, Architecture, Image string
	MaxBytes                                      int64
	Result, Temporary                             string
	StoreURL, KeybrokerURL, Namespace, TokenFile  string
	// Registry is the repository of bundles that are images. With a Digest the bundle is uploaded there
	// from the store, and without one it is looked for.
	Registry, RegistryTag, RegistryCredentials, Digest string
	// KeybrokerCA and RegistryCA come from the environment.
	KeybrokerCA, RegistryCA string
}

// Defaults returns the options of an installation as it is shipped.
func Defaults() Options {
	return Options{
		Method: "npx", MaxBytes: 1 << 30, Result: "/dev/termination-log", Temporary: "/tmp",
		Namespace: "hosted-bridge-system", TokenFile: "/var/run/secrets/hosted-bridge/token",
	}
}

// RegisterFlags binds the options to flags whose defaults they hold.
func (o *Options) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Tree, "tree", o.Tree, "folder with what was installed")
	fs.StringVar(&o.Log, "log", o.Log, "file with what npm or uv wrote")
	fs.StringVar(&o.ExitCode, "exit-code", o.ExitCode, "file with the code that npm or uv ended with")
	fs.StringVar(&o.Method, "method", o.Method, "how the package was installed: npx or uvx")
	fs.StringVar(&o.Package, "package", o.Package, "name of the package")
	fs.StringVar(&o.Version, "version", o.Version, "exact version of the package")
	fs.StringVar(&o.Architecture, "architecture", o.Architecture, "architecture of the processor")
	fs.StringVar(&o.Image, "runtime", o.Image, "image in which it was installed")
	fs.Int64Var(&o.MaxBytes, "max-bytes", o.MaxBytes, "bytes that the bundle may have, uncompressed")
	fs.StringVar(&o.Result, "result", o.Result, "file for the outcome, a JSON object")
	fs.StringVar(&o.Temporary, "temporary-directory", o.Temporary, "directory with room for the compressed bundle")
	fs.StringVar(&o.Registry, "registry", o.Registry, "repository of bundles that are images, as host/path")
	fs.StringVar(&o.RegistryTag, "registry-tag", o.RegistryTag, "tag of the bundle's image")
	fs.StringVar(&o.RegistryCredentials, "registry-credentials", o.RegistryCredentials, "file with the registry's credentials, as docker login writes it; without the file requests are anonymous")
	fs.StringVar(&o.Digest, "digest", o.Digest, "digest of the bundle of the store that is uploaded to the registry; without it the registry is asked for the tag")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace of the installation")
	fs.StringVar(&o.StoreURL, "store-url", o.StoreURL, "URL of the store's bundles (default: the service hosted-bridge-store in --namespace)")
	fs.StringVar(&o.KeybrokerURL, "keybroker-url", o.KeybrokerURL, "URL of the keybroker (default: the service hosted-bridge-keybroker in --namespace)")
	fs.StringVar(&o.TokenFile, "token-file", o.TokenFile, "projected service-account token for the keybroker")
}

func (o *Options) validate() error {
	var errs []error
	check := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what))
		}
	}
	required := map[string]string{
		"tree": o.Tree, "log": o.Log, "exit-code": o.ExitCode, "package": o.Package, "version": o.Version,
		"architecture": o.Architecture, "runtime": o.Image, "result": o.Result,
	}
	if o.Registry != "" {
		required = map[string]string{"registry-tag": o.RegistryTag, "registry-credentials": o.RegistryCredentials, "result": o.Result}
	}
	for flag, value := range required {
		check(value != "", "--"+flag+" must be set")
	}
	check(bundle.IsMethod(o.Method), "--method must be npx or uvx")
	check(o.MaxBytes > 0, "--max-bytes must be more than 0")
	for flag, value := range map[string]string{"store-url": o.StoreURL, "keybroker-url": o.KeybrokerURL} {
		u, err := url.Parse(value)
		check(err == nil && u.Scheme == "https" && u.Host != "", "--"+flag+" must be an https URL")
	}
	check(o.KeybrokerCA != "", "the environment must have "+envKeybrokerCA+", the keybroker's certificate in PEM")
	return errors.Join(errs...)
}

// parse reads the command line and the environment.
func parse(args []string, getenv func(string) string, stderr io.Writer) (Options, error) {
	o := Defaults()
	fs := pflag.NewFlagSet("ingress bundle", pflag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { _, _ = io.WriteString(stderr, usage+fs.FlagUsages()) }
	o.RegisterFlags(fs)
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("%q is not expected", fs.Arg(0))
	}
	if o.StoreURL == "" {
		o.StoreURL = "https://hosted-bridge-store." + o.Namespace + ".svc:8444"
	}
	if o.KeybrokerURL == "" {
		o.KeybrokerURL = "https://hosted-bridge-keybroker." + o.Namespace + ".svc:8443"
	}
	o.KeybrokerCA, o.RegistryCA = getenv(envKeybrokerCA), getenv(envRegistryCA)
	return o, o.validate()
}
