package demo

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	mathrand "math/rand/v2"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// message makes a persistent JSON message with a new id and the time of now, as a careful publisher sends it.
func message(application, kind string, body any) amqp.Publishing {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // the bodies below are maps of strings and numbers
	}
	return amqp.Publishing{
		ContentType:  "application/json",
		DeliveryMode: amqp.Persistent,
		MessageId:    newID(),
		Timestamp:    time.Now().Truncate(time.Second), // AMQP has whole seconds
		Type:         kind,
		AppId:        application,
		Body:         text,
	}
}

// again makes a message that publishes a delivered one once more with other headers.
func again(d amqp.Delivery, headers amqp.Table) amqp.Publishing {
	return amqp.Publishing{
		Headers: headers, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: d.DeliveryMode,
		Priority: d.Priority, CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo, MessageId: d.MessageId,
		Timestamp: d.Timestamp, Type: d.Type, AppId: d.AppId, Body: d.Body,
	}
}

// newID returns a random UUID (version 4).
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	text := hex.EncodeToString(id[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// fate returns a number from 0 to 99 that is always the same for a message in a service: what fails there fails there
// again, and no worker has to remember.
func fate(service, messageID string) int {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(service + " " + messageID))
	return int(hash.Sum64() % 100)
}

type object = map[string]any

var (
	givenNames = []string{
		"Ada", "Grace", "Guan", "Ines", "Jürgen", "Katalin", "Mehmet", "Nadia", "Olu", "Søren",
		"Yuki", "Zoë",
	}
	familyNames = []string{
		"Abebe", "Brandt", "Costa", "Díaz", "Eriksson", "Fischer", "Guanguans", "Haddad", "Ito",
		"Kowalska",
	}
	plans     = []string{"free", "team", "business"}
	articles  = []string{"espresso grinder", "desk lamp", "bicycle bell", "rain jacket", "notebook A5", "usb-c cable"}
	companies = []string{"Nordlicht GmbH", "Acme Ltd", "Ríos y Asociados", "Tanaka KK", "Okafor & Sons"}
)

func pick[T any](from []T) T { return from[mathrand.IntN(len(from))] }

func userBody() object {
	name := pick(givenNames)
	id := 1000 + mathrand.IntN(9000)
	return object{
		"id":    id,
		"name":  name + " " + pick(familyNames),
		"email": fmt.Sprintf("user%d@example.com", id),
		"plan":  pick(plans),
	}
}

func enterpriseBody() object {
	return object{
		"id":    100 + mathrand.IntN(900),
		"name":  pick(companies),
		"seats": 5 * (1 + mathrand.IntN(40)),
		"vat":   fmt.Sprintf("EU%09d", mathrand.IntN(1e9)),
	}
}

func orderBody() object {
	quantity, cents := 1+mathrand.IntN(4), 490+mathrand.IntN(12000)
	return object{
		"order_id": fmt.Sprintf("A-%06d", mathrand.IntN(1e6)),
		"customer": 1000 + mathrand.IntN(9000),
		"items":    []object{{"article": pick(articles), "quantity": quantity, "cents": cents}},
		"total":    object{"cents": quantity * cents, "currency": "EUR"},
	}
}

func mailBody() object {
	user := userBody()
	return object{
		"to":       user["email"],
		"subject":  fmt.Sprintf("Your order A-%06d is on its way", mathrand.IntN(1e6)),
		"template": "order_shipped",
		"language": pick([]string{"de", "en", "es", "ja"}),
	}
}
