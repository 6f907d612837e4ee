// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlejob

import (
	"io"

	"github.com/hostedbridge/hostedbridge/internal/setting"
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

// Options are the settings of a packer. Each is explained where it is declared.
type Options struct {
	Tree, Log, ExitCode                           string
	Method, Package, Version, Architecture, Image string
	MaxBytes                                      int64
	Result, Temporary                             string
	StoreURL, KeybrokerURL, TokenFile             string
	// Registry is the repository of bundles that are images. With a Digest the bundle is uploaded there
	// from the store, and without one it is looked for.
	Registry, RegistryTag, RegistryCredentials, Digest string
	KeybrokerCA, RegistryCA                            string
}

// Declare declares the settings.
func (o *Options) Declare(getenv func(string) string) *setting.Set {
	s := setting.New("ingress bundle", usage)
	s.String(&o.Tree, "tree", "", "folder with what was installed", o.packs)
	s.String(&o.Log, "log", "", "file with what npm or uv wrote", o.packs)
	s.String(&o.ExitCode, "exit-code", "", "file with the code that npm or uv ended with", o.packs)
	s.String(&o.Method, "method", "npx", "how the package was installed: npx or uvx", setting.OneOf("npx", "uvx"))
	s.String(&o.Package, "package", "", "name of the package", o.packs)
	s.String(&o.Version, "version", "", "exact version of the package", o.packs)
	s.String(&o.Architecture, "architecture", "", "architecture of the processor", o.packs)
	s.String(&o.Image, "runtime", "", "image in which it was installed", o.packs)
	s.Int64(&o.MaxBytes, "max-bytes", 1<<30, "bytes that the bundle may have, uncompressed", setting.AtLeast[int64](1))
	s.String(&o.Result, "result", "/dev/termination-log", "file for the outcome, a JSON object", setting.Required)
	s.String(&o.Temporary, "temporary-directory", "/tmp", "directory with room for the compressed bundle")
	s.String(&o.Registry, "registry", "", "repository of bundles that are images, as host/path")
	s.String(&o.RegistryTag, "registry-tag", "", "tag of the bundle's image", o.usesRegistry)
	s.String(&o.RegistryCredentials, "registry-credentials", "", "file with the registry's credentials, as docker login writes it; without the file requests are anonymous", o.usesRegistry)
	s.String(&o.Digest, "digest", "", "digest of the bundle of the store that is uploaded to the registry; without it the registry is asked for the tag")
	s.String(&o.StoreURL, "store-url", "", "URL of the store's bundles", setting.HTTPS)
	s.String(&o.KeybrokerURL, "keybroker-url", "", "URL of the keybroker", setting.HTTPS)
	s.String(&o.TokenFile, "token-file", "/var/run/secrets/hosted-bridge/token", "projected service-account token for the keybroker")
	s.Env(&o.KeybrokerCA, envKeybrokerCA, "the keybroker's certificate in PEM", getenv)
	o.RegistryCA = getenv(envRegistryCA)
	return s
}

// packs requires a setting where something that was installed is packed.
func (o *Options) packs(value string) error {
	if o.Registry != "" {
		return nil
	}
	return setting.Required(value)
}

// usesRegistry requires a setting where a bundle of a registry is meant.
func (o *Options) usesRegistry(value string) error {
	if o.Registry == "" {
		return nil
	}
	return setting.Required(value)
}

// parse reads the command line and the environment.
func parse(args []string, getenv func(string) string, stderr io.Writer) (o Options, err error) {
	s := o.Declare(getenv)
	s.SetOutput(stderr)
	err = s.Parse(args)
	return o, err
}
