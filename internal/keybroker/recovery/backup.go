// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

const (
	// MaxBackup is the size in bytes of the largest backup that is read. Read
	// as YAML it takes several times that in memory, and the keybroker's
	// container has 512 MiB, which the server needs too.
	MaxBackup = 16 << 20

	// maxNesting is how deep objects may be nested. Those of Kubernetes have
	// about a dozen levels.
	maxNesting = 64
)

// Backup is what a backup holds of HostedBridges and their secrets.
type Backup struct {
	bridges   map[Ref]formerBridge
	envelopes map[Ref]*corev1.Secret // By their HostedBridge.
	salts     map[Ref]*corev1.Secret
}

// formerBridge is a HostedBridge as it was.
type formerBridge struct {
	uid  types.UID
	user v1alpha1.UserID
}

// Len is the number of HostedBridges in the backup.
func (b *Backup) Len() int { return len(b.bridges) }

// ReadBackup reads what kubectl get prints as YAML or JSON: objects, Lists of
// them, and several of either in a row. It accepts HostedBridges and the
// Secrets of their envelopes and salts; anything else is an error. An object
// that occurs twice is an error too, because one of the two would be ignored.
// Errors name objects and quote nothing.
func ReadBackup(r io.Reader) (*Backup, error) {
	content, err := io.ReadAll(io.LimitReader(r, MaxBackup+1))
	if err != nil {
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	if len(content) > MaxBackup {
		return nil, fmt.Errorf("the backup is larger than %d MiB: restore it in parts, for example by namespace", MaxBackup>>20)
	}
	b := &Backup{map[Ref]formerBridge{}, map[Ref]*corev1.Secret{}, map[Ref]*corev1.Secret{}}
	documents, err := split(content)
	if err != nil {
		return nil, err
	}
	for i, document := range documents {
		if err := b.take(document, true); err != nil {
			return nil, fmt.Errorf("document %d of the backup: %w", i+1, err)
		}
	}
	return b, nil
}

// split returns the documents as JSON.
func split(content []byte) ([]json.RawMessage, error) {
	if bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) {
		return splitJSON(content)
	}
	var documents []json.RawMessage
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read document %d of the backup: %w", len(documents)+1, err)
		}
		// Its errors may quote the input.
		converted, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, fmt.Errorf("document %d of the backup is not YAML, or has a key twice", len(documents)+1)
		}
		if !bytes.Equal(bytes.TrimSpace(converted), []byte("null")) {
			documents = append(documents, converted)
		}
	}
}

func splitJSON(content []byte) ([]json.RawMessage, error) {
	var documents []json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(content))
	for {
		var document json.RawMessage
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil || !unambiguous(document) {
			return nil, fmt.Errorf("document %d of the backup is not JSON, or has a key twice", len(documents)+1)
		}
		documents = append(documents, document)
	}
}

// unambiguous reports whether no object of the document has a key twice.
// Package json silently takes the last one.
func unambiguous(document []byte) bool {
	return distinct(json.NewDecoder(bytes.NewReader(document)), 0)
}

// distinct reads one value.
func distinct(decoder *json.Decoder, depth int) bool {
	token, err := decoder.Token()
	if err != nil || depth > maxNesting {
		return false
	}
	if token != json.Delim('{') && token != json.Delim('[') {
		return true
	}
	keys := map[any]bool{}
	for decoder.More() {
		if token == json.Delim('{') {
			key, err := decoder.Token()
			if err != nil || keys[key] {
				return false
			}
			keys[key] = true
		}
		if !distinct(decoder, depth+1) {
			return false
		}
	}
	_, err = decoder.Token()
	return err == nil
}

// take reads one object, or a List of them where one may be.
func (b *Backup) take(document json.RawMessage, mayList bool) error {
	var object struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	if json.Unmarshal(document, &object) != nil {
		return errors.New("not an object of Kubernetes")
	}
	kind := object.APIVersion + " " + object.Kind
	if kind == "v1 List" && mayList {
		for i, item := range object.Items {
			if err := b.take(item, false); err != nil {
				return fmt.Errorf("item %d: %w", i+1, err)
			}
		}
		return nil
	}
	if object.Metadata.Namespace == "" || object.Metadata.Name == "" {
		return fmt.Errorf("a %s without namespace or name", object.Kind)
	}
	at := Ref{object.Metadata.Namespace, object.Metadata.Name}
	switch kind {
	case v1alpha1.GroupVersion.String() + " HostedBridge":
		return b.takeBridge(at, document)
	case v1alpha1.GroupVersion.String() + " SharedServer":
		return b.takeShared(at, object.Metadata.UID)
	case "v1 Secret":
		return b.takeSecret(at, document)
	default:
		return fmt.Errorf("%s is %s: neither a HostedBridge or SharedServer of %s nor a Secret", at, object.Kind, v1alpha1.GroupVersion)
	}
}

// takeBridge reads the few fields that are needed of a HostedBridge. Other
// fields may be those of another version of the API.
func (b *Backup) takeBridge(at Ref, document []byte) error {
	var read struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			UserID v1alpha1.UserID `json:"userID"`
		} `json:"spec"`
	}
	if json.Unmarshal(document, &read) != nil {
		return fmt.Errorf("HostedBridge %s cannot be read", at)
	}
	if read.Metadata.UID == "" {
		return fmt.Errorf("HostedBridge %s has no metadata.uid: its secrets are bound to that", at)
	}
	if _, found := b.bridges[at]; found {
		return fmt.Errorf("HostedBridge %s is there twice", at)
	}
	bridge := v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Name: at.Name}, Spec: v1alpha1.HostedBridgeSpec{UserID: read.Spec.UserID}}
	b.bridges[at] = formerBridge{read.Metadata.UID, bridge.User()}
	return nil
}

// takeShared reads what is needed of a SharedServer.
func (b *Backup) takeShared(at Ref, uid types.UID) error {
	if uid == "" {
		return fmt.Errorf("SharedServer %s has no metadata.uid: its secrets are bound to that", at)
	}
	of := refOf(secretstore.Shared(at.Namespace, at.Name, uid))
	if _, found := b.bridges[of]; found {
		return fmt.Errorf("SharedServer %s is there twice", at)
	}
	b.bridges[of] = formerBridge{uid, ""}
	return nil
}

func (b *Backup) takeSecret(at Ref, document []byte) error {
	secret := &corev1.Secret{}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	if decoder.Decode(secret) != nil {
		return fmt.Errorf("the Secret %s cannot be read", at)
	}
	owner, known := secretstore.OwnerOf(at.Namespace, metav1.GetControllerOfNoCopy(secret))
	if !known {
		return fmt.Errorf("the Secret %s belongs to no HostedBridge and no SharedServer", at)
	}
	of := refOf(owner)
	var into map[Ref]*corev1.Secret
	switch at.Name {
	case owner.EnvelopesName():
		into = b.envelopes
	case owner.SaltName():
		into = b.salts
		if len(secret.Data[secretstore.SaltKey]) == 0 {
			return fmt.Errorf("the Secret %s holds no salt", at)
		}
	default:
		return fmt.Errorf("the Secret %s of HostedBridge %s holds neither envelopes nor a salt", at, owner.Name)
	}
	if _, found := into[of]; found {
		return fmt.Errorf("the Secret %s is there twice", at)
	}
	into[of] = secret
	return nil
}

// refs lists the HostedBridges that had secrets, in order. The backup may lack
// the HostedBridges themselves.
func (b *Backup) refs() []Ref {
	refs := make([]Ref, 0, len(b.envelopes))
	for at := range b.envelopes {
		refs = append(refs, at)
	}
	slices.SortFunc(refs, Ref.compare)
	return refs
}
