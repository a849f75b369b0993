package codex

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// autoReview shows what the provider's own reviewer decided in a person's place:
// with permission auto nobody else sees it.
func (r *Reducer) autoReview(m *abi.Message, out *guest.Effects) {
	if m.Replay {
		return
	}
	var at scope
	x := abi.Item{Type: abi.ItemOther, Title: "Approval review", Native: m.Method, Status: abi.ItemRunning}
	var review, action, target []byte
	r.dec.Reset(m.Params)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldThreadID:
			at = r.scopeOf(d.Bytes())
		case FieldTurnID:
			x.Turn = r.turnID(d.Bytes())
		case FieldReviewID:
			x.ID = d.String()
		case FieldReview:
			review = d.Raw()
		case FieldAction:
			action = d.Raw()
		case FieldTargetItemID:
			target = d.Raw()
		default:
			d.Skip()
		}
	})
	if !at.known || x.ID == "" || r.dec.Err() != nil {
		return
	}
	if at.child != "" {
		x.Turn, x.Child, x.ID = r.current(), at.child, childItem(at.child, x.ID)
	}
	r.dec.Reset(review)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldStatus:
			x.Status = reviewStatus(d.String())
		case FieldRationale:
			x.Text = d.String()
		default:
			d.Skip()
		}
	})
	x.Data = members(member{FieldReview, review}, member{FieldAction, action}, member{FieldTargetItemID, target})
	out.Item(&x)
}

func reviewStatus(native string) abi.ItemStatus {
	switch native {
	case EnumGuardianApprovalReviewStatusApproved:
		return abi.ItemCompleted
	case EnumGuardianApprovalReviewStatusDenied:
		return abi.ItemDeclined
	case EnumGuardianApprovalReviewStatusAborted, EnumGuardianApprovalReviewStatusTimedOut:
		return abi.ItemFailed
	}
	return abi.ItemRunning
}
