module github.com/vmseed/vmseed/interop

go 1.26.0

require (
	github.com/aws/aws-sdk-go-v2 v1.47.7
	github.com/aws/aws-sdk-go-v2/feature/ec2/imds v1.20.7
	github.com/ovirt/go-ovirt v0.0.0-20220427092237-114c47f2835c
	github.com/ovirt/go-ovirt-client-log/v3 v3.0.0
	github.com/ovirt/go-ovirt-client/v3 v3.2.0
	github.com/vmseed/vmseed v0.0.0
)

require (
	github.com/aws/smithy-go v1.28.8 // indirect
	github.com/google/uuid v1.6.0 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
)

replace github.com/vmseed/vmseed => ../
