{{- /* vmseed.namespace moves an object into another namespace, in place. It prints nothing. */ -}}
{{- define "vmseed.namespace" -}}
{{- $object := .object -}}{{- $ns := .namespace -}}
{{- if and (eq $object.kind "Namespace") (eq $object.metadata.name "kubevirt") -}}{{- $_ := set $object.metadata "name" $ns -}}{{- end -}}
{{- if eq (get $object.metadata "namespace") "kubevirt" -}}{{- $_ := set $object.metadata "namespace" $ns -}}{{- end -}}
{{- range $subject := (get $object "subjects" | default list) -}}
{{- if eq (get $subject "namespace") "kubevirt" -}}{{- $_ := set $subject "namespace" $ns -}}{{- end -}}
{{- end -}}
{{- if eq $object.kind "APIService" -}}{{- $_ := set $object.spec.service "namespace" $ns -}}{{- end -}}
{{- if and (eq $object.kind "ValidatingAdmissionPolicyBinding") (hasKey $object.spec "paramRef") -}}{{- $_ := set $object.spec.paramRef "namespace" $ns -}}{{- end -}}
{{- if eq $object.kind "ValidatingAdmissionPolicy" -}}
{{- range $condition := concat (get $object.spec "matchConditions" | default list) (get $object.spec "variables" | default list) -}}
{{- $_ := set $condition "expression" ($condition.expression | replace "system:serviceaccount:kubevirt:" (printf "system:serviceaccount:%s:" $ns) | replace "request.namespace == 'kubevirt'" (printf "request.namespace == '%s'" $ns)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
