// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// damaged changes a byte of the Secret's key, and a salt's length.
func damaged(name, key string) func(objects []any) []any {
	return func(objects []any) []any {
		for _, o := range objects {
			if secret, ok := o.(*corev1.Secret); ok && secret.Name == name {
				value := secret.Data[key]
				value[len(value)-1] ^= 1
				if key == secretstore.SaltKey {
					secret.Data[key] = value[1:]
				}
			}
		}
		return objects
	}
}

// foreign gives the Secret to another HostedBridge of the same name.
func foreign(name string) func(objects []any) []any {
	return func(objects []any) []any {
		for _, o := range objects {
			if secret, ok := o.(*corev1.Secret); ok && secret.Name == name {
				secret.OwnerReferences[0].UID = "uid-earlier"
			}
		}
		return objects
	}
}

const (
	owned  = `"ownerReferences":[{"apiVersion":"hostedbridge.dev/v1alpha1","kind":"HostedBridge","name":"alice","uid":"u","controller":true}]`
	alice  = `{"apiVersion":"hostedbridge.dev/v1alpha1","kind":"HostedBridge","metadata":{"namespace":"team","name":"alice","uid":"u"},"spec":{"later":"field"}}`
	sealed = `{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"team","name":"alice-envelopes",` + owned + `},"data":{"A":"aGItY2FuYXJ5"}}`
	salted = `{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"team","name":"alice-salt",` + owned + `},"data":{"salt":"aGItY2FuYXJ5"}}`
)

func TestReadBackup(t *testing.T) {
	list := func(items ...string) string {
		return `{"apiVersion":"v1","kind":"List","items":[` + strings.Join(items, ",") + `]}`
	}
	for _, test := range []struct {
		name    string
		content string
		bridges int
		err     string
	}{
		{"nothing", "", 0, ""},
		{"a List", list(alice, sealed, salted), 1, ""},
		{"JSON in a row", alice + sealed + "\n" + salted, 1, ""},
		{"Lists in a row", list(alice) + list(sealed) + list(salted), 1, ""},
		{"YAML in a row", "---\n" + alice + "\n---\n# nothing\n---\n" + sealed + "\n---\n" + list(salted), 1, ""},
		{"JSON that is cut off", list(alice, sealed)[:100], 0, "document 1 of the backup is not JSON"},
		{"JSON with more behind it", alice + "hb-canary", 0, "document 2 of the backup is not JSON"},
		{"YAML that is none", "a: [hb-canary\n", 0, "document 1 of the backup is not YAML"},
		{"a key twice in JSON", strings.Replace(sealed, `"data":{`, `"data":{"A":"aGItY2FuYXJ5",`, 1), 0, "has a key twice"},
		{"a key twice in YAML", "a: hb-canary\na: hb-canary\n", 0, "has a key twice"},
		{"text", "hb-canary", 0, "not an object"},
		{"a List in a List", list(list(alice)), 0, "item 1: a List without namespace or name"},
		{"a Pod", list(alice, strings.Replace(sealed, `"Secret"`, `"Pod"`, 1)), 0, "document 1 of the backup: item 2: team/alice-envelopes is Pod"},
		{"another group's HostedBridge", strings.Replace(alice, "hostedbridge.dev/", "example.com/", 1), 0, "neither a HostedBridge"},
		{"a HostedBridge without its UID", strings.Replace(alice, `"uid":"u"`, `"uid":""`, 1), 0, "has no metadata.uid"},
		{"a HostedBridge twice", list(alice, alice), 0, "HostedBridge team/alice is there twice"},
		{"envelopes twice", list(sealed, sealed), 0, "Secret team/alice-envelopes is there twice"},
		{"a Secret with a field that none has", strings.Replace(sealed, `"data"`, `"date"`, 1), 0, "Secret team/alice-envelopes cannot be read"},
		{"data that are not base64", strings.Replace(sealed, `"aGItY2FuYXJ5"`, `"hb-canary"`, 1), 0, "cannot be read"},
		{"the ring", strings.Replace(sealed, owned, `"labels":{}`, 1), 0, "belongs to no HostedBridge"},
		{"another Secret of a HostedBridge", strings.Replace(sealed, "alice-envelopes", "alice-more", 1), 0, "neither envelopes nor a salt"},
		{"a salt that is empty", strings.Replace(salted, `"salt":`, `"pepper":`, 1), 0, "holds no salt"},
		{"what has no namespace", strings.Replace(alice, `"namespace":"team",`, "", 1), 0, "without namespace or name"},
		{"objects in objects", strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200), 0, "is not JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, err := ReadBackup(strings.NewReader(test.content))
			if test.err == "" {
				if err != nil || b.Len() != test.bridges || len(b.envelopes) != test.bridges || len(b.salts) != test.bridges {
					t.Errorf("%+v, error %v", b, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "aGIt") {
				t.Errorf("error %v, want %q and nothing quoted", err, test.err)
			}
		})
	}
}

func TestALargeBackupIsNotRead(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(`{"a":"`), repeat('x'))
	if _, err := ReadBackup(endless); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("error %v", err)
	}
}

// repeat is a reader without an end.
type repeat byte

func (r repeat) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r)
	}
	return len(b), nil
}

// FuzzReadBackup looks for a panic, and for a Secret that is taken for another
// HostedBridge's than its owner.
func FuzzReadBackup(f *testing.F) {
	for _, seed := range []string{alice, sealed, salted, "---\n" + alice + "\n---\n" + sealed, `{"apiVersion":"v1","kind":"List","items":[` + alice + `]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		b, err := ReadBackup(strings.NewReader(content))
		if (err == nil) == (b == nil) {
			t.Fatalf("%v, error %v", b, err)
		}
		if err != nil {
			return
		}
		for at, secret := range b.envelopes {
			owner := metav1.GetControllerOf(secret)
			if secret.Namespace != at.Namespace || owner.Name != at.Name || secret.Name != v1alpha1.EnvelopesSecretName(at.Name) {
				t.Errorf("Secret %s/%s is taken for that of %s", secret.Namespace, secret.Name, at)
			}
		}
	})
}
