{{/*
The data of the ConfigMaps, by themselves so that their checksums are of them
alone.
*/}}

{{- define "hosted-bridge.config.installation" -}}
BASE_URL: {{ .Values.baseURL | trimSuffix "/" | quote }}
BRIDGE_IMAGE: {{ include "hosted-bridge.image" (dict "root" . "name" "bridge" "image" .Values.bridge.image) | quote }}
RUNTIME_IMAGE_NODE: {{ include "hosted-bridge.runtime" (dict "root" . "name" "runtime-node" "image" .Values.bridge.runtimes.node) | quote }}
RUNTIME_IMAGE_PYTHON: {{ include "hosted-bridge.runtime" (dict "root" . "name" "runtime-python" "image" .Values.bridge.runtimes.python) | quote }}
PACKER_IMAGE: {{ include "hosted-bridge.image" (dict "root" . "name" "ingress" "image" .Values.ingress.image) | quote }}
SHIM_IMAGES: {{ include "hosted-bridge.shimImages" . | quote }}
{{- end }}

{{- define "hosted-bridge.config.tiers" -}}
{{- $tiers := dict -}}
{{- range $name, $tier := .Values.tiers }}
{{- if $tier }}{{ $_ := set $tiers $name $tier }}{{ end }}
{{- end -}}
tiers.yaml: |
  {{- toYaml (dict "tiers" $tiers) | nindent 2 }}
{{- end }}
