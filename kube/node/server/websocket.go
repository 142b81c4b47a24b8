package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/httpstream/wsstream"
)

// mostPorts bounds the ports of one web socket: each takes two of the 256 channels.
const mostPorts = 64

// portForwardWebSocket forwards the ports that the parameter port names, each on a channel of data and one of errors, in
// that order. The first message on each channel is the port, in two bytes with the low one first
// (v4.channel.k8s.io as the kubelet speaks it).
func (s *Server) portForwardWebSocket(ctx context.Context, w http.ResponseWriter, r *http.Request, streams Streams) {
	ports, err := webSocketPorts(r.URL.Query()["port"])
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	channels := make([]wsstream.ChannelType, 0, 2*len(ports))
	for range ports {
		channels = append(channels, wsstream.ReadWriteChannel, wsstream.WriteChannel)
	}
	conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{
		"":                         {Binary: true, Channels: channels},
		"v4.channel.k8s.io":        {Binary: true, Channels: channels},
		"v4.base64.channel.k8s.io": {Binary: false, Channels: channels},
	})
	conn.SetIdleTimeout(streamIdle)
	_, open, err := conn.Open(w, r)
	if err != nil {
		s.config.Logger.Debug("a web socket for a port was not opened", "error", err)
		return
	}
	defer conn.Close() //nolint:errcheck // Nothing is left to be sent.
	var all sync.WaitGroup
	for i, port := range ports {
		data, problems := open[2*i], open[2*i+1]
		for _, c := range []io.Writer{data, problems} {
			if err := binary.Write(c, binary.LittleEndian, port); err != nil {
				return
			}
		}
		all.Go(func() {
			defer problems.Close() //nolint:errcheck // The connection may have gone.
			defer data.Close()     //nolint:errcheck // As above.
			if err := streams.PortForward(ctx, r.PathValue("namespace"), r.PathValue("pod"), int32(port), data); err != nil {
				fmt.Fprintf(problems, "port %d: %v", port, err) //nolint:errcheck // As above.
			}
		})
	}
	all.Wait()
}

// webSocketPorts reads the parameters port, which may be lists.
func webSocketPorts(values []string) (ports []uint16, err error) {
	for _, v := range values {
		for text := range strings.SplitSeq(v, ",") {
			n, err := strconv.ParseUint(text, 10, 16)
			if err != nil || n == 0 {
				return nil, errors.New("port must be a number from 1 to 65535")
			}
			ports = append(ports, uint16(n))
		}
	}
	if len(ports) == 0 || len(ports) > mostPorts {
		return nil, fmt.Errorf("there must be 1 to %d ports", mostPorts)
	}
	return ports, nil
}
